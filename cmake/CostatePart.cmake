# A program made of some of the objects of another one, for those who want to see something before everything is built.
# Same sources, same objects, nothing is compiled twice; what is left out is absent: a call into it ends the program with
# a message that says how to build the whole (apps/demo/absent.cpp).

# costate_part(costate_demo SOURCES main.cpp TARGETS costate_mpm ... WITHOUT regex ...): the objects of TARGETS, without
# those whose name (layer/source, such as mpm/system_2d_double.cpp) matches.
function(costate_part name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TARGETS;WITHOUT;LIBRARIES" ${ARGN})
  set(objects "")
  set(left_out "")
  foreach(target IN LISTS ARG_TARGETS)
    get_target_property(sources ${target} SOURCES)
    get_target_property(from ${target} SOURCE_DIR)
    get_target_property(to ${target} BINARY_DIR)
    string(REGEX REPLACE "^costate_" "" layer ${target})
    foreach(source IN LISTS sources)
      string(REPLACE "${to}/" "" source ${source})  # of a generated file
      set(keep TRUE)
      foreach(pattern IN LISTS ARG_WITHOUT)
        if("${layer}/${source}" MATCHES "${pattern}")
          set(keep FALSE)
          list(APPEND left_out ${pattern})
        endif()
      endforeach()
      if(keep)
        list(APPEND objects ${to}/CMakeFiles/${target}.dir/${source}.o)
      endif()
    endforeach()
  endforeach()
  foreach(pattern IN LISTS ARG_WITHOUT)
    if(NOT pattern IN_LIST left_out)
      message(WARNING "costate_part(${name}): nothing matches ${pattern}; mend the pattern, or drop it")
    endif()
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

  # What these objects call and none of them defines.
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  string(REPLACE ";" "\n" lines "${objects}")
  file(CONFIGURE OUTPUT ${folder}/objects.txt CONTENT "${lines}\n")
  add_custom_command(OUTPUT ${folder}/absent_symbols.inc
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/absent_symbols.py --nm ${CMAKE_NM} ${folder}/objects.txt
            ${folder}/absent_symbols.inc
    DEPENDS ${objects} ${PROJECT_SOURCE_DIR}/tools/absent_symbols.py ${folder}/objects.txt VERBATIM)
  add_executable(${name} ${ARG_SOURCES} ${folder}/absent_symbols.inc ${objects})
  target_include_directories(${name} PRIVATE ${folder} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE costate_flags costate_warnings ${ARG_LIBRARIES})
endfunction()
