# Every third-party library, all from Debian 12, wrapped as imported targets so that headers count as system headers.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(double-conversion REQUIRED)
find_package(simdjson REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(CURL REQUIRED)
find_package(CLI11 REQUIRED)

add_library(acl_json INTERFACE)
target_link_libraries(acl_json INTERFACE nlohmann_json::nlohmann_json)
add_library(acl::json ALIAS acl_json)

add_library(acl_asio INTERFACE)
target_link_libraries(acl_asio INTERFACE Boost::headers Threads::Threads OpenSSL::SSL OpenSSL::Crypto)
target_compile_definitions(acl_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
if(ACL_SANITIZE MATCHES "thread")
  # ThreadSanitizer does not know fences (g++ refuses them); asio's handlers are ordered by its scheduler's mutex as well.
  target_compile_definitions(acl_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
add_library(acl::asio ALIAS acl_asio)

pkg_check_modules(pqxx REQUIRED IMPORTED_TARGET libpqxx)
add_library(acl::pqxx ALIAS PkgConfig::pqxx)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)   # beneath it
add_library(acl::pq ALIAS PkgConfig::libpq)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
add_library(acl::re2 ALIAS PkgConfig::re2)
pkg_check_modules(zip REQUIRED IMPORTED_TARGET libzip)
add_library(acl::zip ALIAS PkgConfig::zip)

pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
add_library(acl::utf8proc ALIAS PkgConfig::utf8proc)

add_library(acl_curl INTERFACE)
target_link_libraries(acl_curl INTERFACE CURL::libcurl)
add_library(acl::curl ALIAS acl_curl)

pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka)
add_library(acl::rdkafka ALIAS PkgConfig::rdkafka)

add_library(acl_protobuf INTERFACE)
target_link_libraries(acl_protobuf INTERFACE protobuf::libprotobuf)
add_library(acl::protobuf ALIAS acl_protobuf)

if(ACL_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  include(GoogleTest)
  add_library(acl_gtest INTERFACE)
  target_link_libraries(acl_gtest INTERFACE GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
  add_library(acl::gtest ALIAS acl_gtest)
endif()

# proto/*.proto -> generated/proto/*.pb.{h,cc}, compiled without our warnings.
file(GLOB acl_protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/*.proto)
set(acl_proto_sources)
foreach(proto ${acl_protos})
  get_filename_component(name ${proto} NAME_WE)
  set(generated ${CMAKE_BINARY_DIR}/generated/proto/${name}.pb)
  add_custom_command(OUTPUT ${generated}.cc ${generated}.h DEPENDS ${proto}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}/generated ${proto})
  list(APPEND acl_proto_sources ${generated}.cc)
endforeach()
add_library(acl_proto STATIC ${acl_proto_sources})
target_include_directories(acl_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
target_compile_options(acl_proto PRIVATE -w)
target_link_libraries(acl_proto PUBLIC protobuf::libprotobuf)
target_link_libraries(acl_protobuf INTERFACE acl_proto)
