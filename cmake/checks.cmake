# Style, layer, path and ISA-object checks as ctests, and each checker's self-test on bad samples.
# A fuzz tree has no tests, so no list of all sources either.
if(TG_FUZZ)
  return()
endif()

function(tg_check name)
  add_test(NAME check_${name} COMMAND ${ARGN})
  set_tests_properties(check_${name} PROPERTIES LABELS style TIMEOUT 120)
endfunction()

tg_check(layers ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_layers.py ${CMAKE_SOURCE_DIR}/src)
tg_check(tidy ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/tidy_test.py ${CMAKE_SOURCE_DIR}
         --build ${CMAKE_BINARY_DIR})
tg_check(paths ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_paths.py ${CMAKE_SOURCE_DIR})
tg_check(isa_objects ${CMAKE_SOURCE_DIR}/tools/check_isa_objects.sh ${CMAKE_BINARY_DIR})

# A checker that cannot fail is noticed here.
file(GLOB selftests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/selftest/*test.py)
foreach(file ${selftests})
  get_filename_component(stem ${file} NAME_WE)
  string(REGEX REPLACE "_?(self)?test$" "" stem ${stem})
  add_test(NAME selftest_${stem} COMMAND ${Python3_EXECUTABLE} -B ${file})
  set_tests_properties(selftest_${stem} PROPERTIES LABELS style TIMEOUT 120)
endforeach()
