# Writes generated/build_info.h (kBuildVersion: version and commit) before the command is compiled.
# Included it defines the target tg_build_info; run as a script (-P) it writes the header, and only
# when its text changed, so that an unchanged commit recompiles nothing.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(tg_build_info
    COMMAND ${CMAKE_COMMAND} -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR}
            -DOUT=${CMAKE_BINARY_DIR}/generated/build_info.h
            -P ${CMAKE_SOURCE_DIR}/cmake/build_info.cmake
    BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/build_info.h
    VERBATIM)
  return()
endif()

execute_process(
  COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --dirty=.dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit "unknown")
endif()
set(text "// Which build this is; written by cmake/build_info.cmake.
#pragma once

#include <string_view>

namespace tollgate {

inline constexpr std::string_view kBuildVersion = \"${VERSION}+${commit}\";

}  // namespace tollgate
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
