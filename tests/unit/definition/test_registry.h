#pragma once
// A few capabilities for the loader's tests, so that a change of the standard ones does not move them.

#include "shared/capability/capability.h"

namespace acl::test {

inline CapabilityRegistry SmallRegistry() {
  CapabilityRegistry registry;
  auto add = [&](std::string id, std::vector<FieldDefinition> parameters, std::vector<std::string> results,
                 std::chrono::seconds timeout = std::chrono::seconds(300)) {
    CapabilityDefinition definition;
    definition.default_timeout = timeout;
    definition.id = std::move(id);
    definition.parameters = std::move(parameters);
    for (std::string& name : results) definition.results.push_back({std::move(name), "any"});
    registry.Add(std::move(definition), [](const Json&, CallContext&) { return StepResult{}; });
  };
  auto field = [](std::string name, std::string type, bool required = false) {
    FieldDefinition out;
    out.name = std::move(name);
    out.type = std::move(type);
    out.required = required;
    return out;
  };
  FieldDefinition path = field("path", "string", true);
  path.aliases = {"file_path"};
  add("io.fs.write_file", {path, field("content", "string", true), field("create_dirs", "boolean")}, {"bytes_written", "success"});
  add("io.fs.read_file", {path}, {"content", "size", "success"});
  add("io.fs.delete", {path}, {"deleted", "success"});
  add("sys.info.get_time", {field("format", "string"), field("timezone", "string")}, {"timestamp", "timezone"});
  add("sys.exec.run", {field("command", "string", true), field("args", "array"), field("timeout", "integer")},
      {"stdout", "stderr", "exit_code", "success"}, std::chrono::seconds(30));
  add("net.http.get", {field("url", "string", true), field("headers", "object"), field("timeout", "integer")},
      {"status_code", "body", "headers", "success"});
  add("text.template.render", {field("template", "string", true), field("variables", "string", true), field("syntax", "string")},
      {"rendered", "success"});
  add("test.fail", {field("message", "string")}, {});
  return registry;
}

}  // namespace acl::test
