# The migrations as C++ source, so that `airun db migrate` needs no source folder. Used twice: included by CMakeLists.txt it makes the
# rule, run as a script (-P) it writes the file.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made from migrations/*.sql by cmake/embed_migrations.cmake.\n#include \"shared/postgres/migrate.h\"\n\nnamespace acl::pg {\n\n")
  string(APPEND text "const std::vector<Migration>& EmbeddedMigrations() {\n  static const std::vector<Migration> all = {\n")
  file(GLOB files ${ACL_MIGRATIONS}/*.sql)
  list(SORT files)
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} sql)
    string(APPEND text "      {\"${name}\", R\"__sql__(${sql})__sql__\"},\n")
  endforeach()
  string(APPEND text "  };\n  return all;\n}\n\n}  // namespace acl::pg\n")
  file(WRITE ${ACL_OUTPUT} "${text}")
  return()
endif()

file(GLOB acl_migration_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/migrations/*.sql)
string(SHA1 acl_migration_list "${acl_migration_files}")  # a file that went away makes it anew, too
set(acl_embedded ${CMAKE_BINARY_DIR}/generated/embedded_migrations.cc)
add_custom_command(OUTPUT ${acl_embedded}
  COMMAND ${CMAKE_COMMAND} -DACL_MIGRATIONS=${CMAKE_SOURCE_DIR}/migrations -DACL_OUTPUT=${acl_embedded}
    -DACL_LIST=${acl_migration_list} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${acl_migration_files} ${CMAKE_CURRENT_LIST_FILE} COMMENT "embedding migrations")
target_sources(acl_shared_postgres PRIVATE ${acl_embedded})
