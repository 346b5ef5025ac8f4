// Literal values that could work in no run are said when a file is loaded (FieldDefinition::check_literal).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/capability/standard.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Check(const char* id, const char* inputs, bool at_load = true) {
  static const CapabilityRegistry registry = [] {
    CapabilityRegistry out;
    RegisterStandardCapabilities(out, CapabilityConfig());
    return out;
  }();
  return CheckParameters(*registry.Find(id), Json::parse(inputs), at_load);
}

TEST(Literals, WhatCanNeverWorkIsSaidAtLoad) {
  const std::pair<const char*, const char*> wrong[] = {
      {"net.http.get", R"x({"url":"example.org/x"})x"},
      {"net.http.get", R"x({"url":"ftp://example.org/x"})x"},
      {"net.http.get", R"x({"url":"http:///x"})x"},
      {"net.http.get", R"x({"url":""})x"},
      {"net.http.post", R"x({"url":"https://user:password@example.org/"})x"},
      {"net.http.get", R"x({"url":"https://example.org/","timeout":0})x"},
      {"net.http.put", R"x({"url":"https://example.org/","timeout":-1.5})x"},
      {"net.http.get", R"x({"url":"https://example.org/","timeout":100000})x"},
      {"net.http.get", R"x({"url":"https://example.org/","headers":{"a b":"c"}})x"},
      {"net.http.get", R"x({"url":"https://example.org/","headers":{"Host":"other"}})x"},
      {"sys.exec.run", R"x({"command":"ls","timeout":0})x"},
      {"sys.exec.run", R"x({"command":"ls","args":[{"a":1}]})x"},
      {"sys.info.get_time", R"x({"timezone":"Europe/Nowhere"})x"},
      {"io.fs.read_file", R"x({"path":"x","encoding":"utf-9"})x"},
      {"io.fs.write_file", R"x({"path":"x","content":"","encoding":"klingon"})x"},
      {"sys.archive.zip", R"x({"source_paths":["a"],"output_path":"b","compression_level":10})x"},
      {"text.regex.match", R"x({"text":"a","pattern":"(a"})x"},
      {"text.regex.match", R"x({"text":"a","pattern":"(?=a)"})x"},
      {"text.regex.match", R"x({"text":"a","pattern":"a","flags":["verbose"]})x"},
      {"test.sleep", R"x({"seconds":-1})x"},
      {"test.effect", R"x({"size":65537})x"},
  };
  for (const auto& [id, inputs] : wrong) {
    EXPECT_EQ(Check(id, inputs).size(), 1u) << id << " " << inputs;
    EXPECT_THAT(Check(id, inputs, false), IsEmpty()) << "the call itself says so: " << id << " " << inputs;
  }
  EXPECT_THAT(Check("net.http.get", R"x({"url":"example.org/x"})x"), ElementsAre(HasSubstr("such as https://example.org/path")));
}

TEST(Literals, WhatMayWorkIsLetThrough) {
  const std::pair<const char*, const char*> fine[] = {
      {"net.http.get", R"x({"url":"http://10.0.0.1:8080/a b?q=\u00e9#x"})x"},
      {"net.http.get", R"x({"url":"HTTPS://Example.ORG","timeout":0.5,"headers":{"X-A":"1","n":2}})x"},
      {"net.http.get", R"x({"url":"{{base}}/x","timeout":"{{t}}","headers":{"Authorization":"Bearer {{key}}"}})x"},
      {"sys.exec.run", R"x({"command":"ls","args":["-l",1,true],"timeout":604800})x"},
      {"sys.info.get_time", R"x({"timezone":"local"})x"},
      {"sys.info.get_time", R"x({"timezone":"UTC"})x"},
      {"io.fs.read_file", R"x({"path":"x","encoding":"ISO_8859_1"})x"},
      {"sys.archive.zip", R"x({"source_paths":["a"],"output_path":"b","compression_level":0})x"},
      {"text.regex.match", R"x({"text":"a","pattern":"(?P<year>\\d{4})\\Z","flags":["global"]})x"},
      {"text.regex.match", R"x({"text":"a","pattern":"(((a{1,90}){1,10}b){1,1})[\\p{L}]{1,900}"})x"},
      {"test.sleep", R"x({"seconds":0})x"},
  };
  for (const auto& [id, inputs] : fine) EXPECT_THAT(Check(id, inputs), IsEmpty()) << id << " " << inputs;
}

}  // namespace
}  // namespace acl
