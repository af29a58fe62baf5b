# Makes embedded_packs.cc from policies/ and adds it to the apps library.
file(GLOB_RECURSE pack_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/policies/*)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(embedded ${CMAKE_BINARY_DIR}/generated/embedded_packs.cc)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed_packs.py ${CMAKE_SOURCE_DIR}/policies ${embedded}
  DEPENDS ${pack_files} ${CMAKE_SOURCE_DIR}/tools/embed_packs.py)
if(TARGET tg_apps)
  target_sources(tg_apps PRIVATE ${embedded})
endif()
