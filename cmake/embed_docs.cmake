# The documents that the API serves, as C++ source, so that a coordinator needs no source folder. Used twice: included by CMakeLists.txt
# it makes the rule, run as a script it writes the file. As an array: compilers bound the length of a literal.
if(CMAKE_SCRIPT_MODE_FILE)
  function(append_document out name file)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
    set(${out} "${${out}}namespace {\nconst char ${name}Bytes[] = {\n${bytes}\n};\n}  // namespace\nconst std::string_view ${name}(${name}Bytes, sizeof ${name}Bytes);\n\n" PARENT_SCOPE)
  endfunction()
  set(text "// Made from docs/ by cmake/embed_docs.cmake.\n#include \"coordinator/api/embedded_docs.h\"\n\nnamespace acl::coordinator {\n\n")
  append_document(text kOpenApiJson ${ACL_DOCS}/reference/openapi.json)
  append_document(text kWorkflowSchemaJson ${ACL_DOCS}/reference/workflow.schema.json)
  file(WRITE ${ACL_OUTPUT} "${text}}  // namespace acl::coordinator\n")
  return()
endif()

set(acl_embedded_docs ${CMAKE_BINARY_DIR}/generated/embedded_docs.cc)
add_custom_command(OUTPUT ${acl_embedded_docs}
  COMMAND ${CMAKE_COMMAND} -DACL_DOCS=${CMAKE_SOURCE_DIR}/docs -DACL_OUTPUT=${acl_embedded_docs} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_SOURCE_DIR}/docs/reference/openapi.json ${CMAKE_SOURCE_DIR}/docs/reference/workflow.schema.json ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "embedding documents")
target_sources(acl_coordinator PRIVATE ${acl_embedded_docs})
