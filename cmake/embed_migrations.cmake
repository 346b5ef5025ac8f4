# The schema as C++ source, so that `airun db migrate` needs no source folder: migrations/*.sql, and functions and views with their versions.
# Used twice: included by CMakeLists.txt it makes the rule, run as a script (-P) it writes the file.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made from migrations/ by cmake/embed_migrations.cmake.\n#include \"shared/postgres/migrate.h\"\n\nnamespace acl::pg {\n\n")
  string(APPEND text "const Schema& EmbeddedSchema() {\n  static const Schema schema = {{\n")
  file(GLOB files ${ACL_MIGRATIONS}/[0-9]*.sql)
  list(SORT files)
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} sql)
    string(APPEND text "      {\"${name}\", R\"__sql__(${sql})__sql__\"},\n")
  endforeach()
  string(APPEND text "  }, ObjectsInOrder({\n")
  file(READ ${ACL_MIGRATIONS}/versions.txt versions)
  file(GLOB files RELATIVE ${ACL_MIGRATIONS} ${ACL_MIGRATIONS}/functions/*.sql ${ACL_MIGRATIONS}/views/*.sql)
  list(SORT files)
  foreach(file ${files})
    string(REGEX REPLACE "\\.sql$" "" name ${file})
    file(SHA256 ${ACL_MIGRATIONS}/${file} hash)
    if(NOT versions MATCHES "(^|\n)${name} [0-9]+ ${hash}\n")
      message(FATAL_ERROR "migrations/${file} is not what migrations/versions.txt says: run ./dev migrations")
    endif()
    file(READ ${ACL_MIGRATIONS}/${file} sql)
    string(APPEND text "      {\"${name}\", R\"__sql__(${sql})__sql__\"},\n")
  endforeach()
  string(APPEND text "  }, R\"__txt__(${versions})__txt__\")};\n  return schema;\n}\n\n}  // namespace acl::pg\n")
  file(WRITE ${ACL_OUTPUT} "${text}")
  return()
endif()

file(GLOB acl_migration_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/migrations/[0-9]*.sql ${CMAKE_SOURCE_DIR}/migrations/functions/*.sql
  ${CMAKE_SOURCE_DIR}/migrations/views/*.sql)
string(SHA1 acl_migration_list "${acl_migration_files}")  # a file that went away makes it anew, too
set(acl_embedded ${CMAKE_BINARY_DIR}/generated/embedded_migrations.cc)
add_custom_command(OUTPUT ${acl_embedded}
  COMMAND ${CMAKE_COMMAND} -DACL_MIGRATIONS=${CMAKE_SOURCE_DIR}/migrations -DACL_OUTPUT=${acl_embedded}
    -DACL_LIST=${acl_migration_list} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${acl_migration_files} ${CMAKE_SOURCE_DIR}/migrations/versions.txt ${CMAKE_CURRENT_LIST_FILE} COMMENT "embedding migrations")
target_sources(acl_shared_postgres PRIVATE ${acl_embedded})
