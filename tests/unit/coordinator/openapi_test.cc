// docs/reference/openapi.json and the router name the same routes; every reference in the document resolves.
#include <fstream>
#include <set>
#include <sstream>

#include "shared/http/health.h"
#include "tests/unit/coordinator/api_fixture.h"
#include "tests/unit/coordinator/project_openapi.h"

namespace acl::coordinator {
namespace {

class OpenApi : public ApiFixture {
 protected:
  OpenApi() {
    AddHealthRoutes(router_, metrics_, [] { return Readiness{}; });
  }
  Json document_ = Json::parse(Ask("GET", "/openapi.json").text);
};

std::string Lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "{path...}" of a pattern is "{path}" in the document.
std::string PathOf(const Route& route) {
  std::string path = route.pattern;
  if (const auto dots = path.find("...}"); dots != std::string::npos) path.erase(dots, 3);
  return path;
}

TEST_F(OpenApi, AgreesWithTheRouter) {
  std::set<std::string> routed, documented;
  for (const auto& route : router_.routes()) routed.insert(Lower(route.method) + " " + PathOf(route));
  for (const auto& [path, item] : document_["paths"].items()) {
    for (const auto& [method, operation] : item.items()) documented.insert(method + " " + path);
  }
  EXPECT_EQ(routed, documented);
}

TEST_F(OpenApi, SaysWhichRoutesTakeABodyAndWhichNeedAKey) {
  std::set<std::string> ids;
  for (const auto& route : router_.routes()) {
    const Json& operation = document_["paths"][PathOf(route)][Lower(route.method)];
    const std::string name = route.method + " " + route.pattern;
    EXPECT_TRUE(ids.insert(operation["operationId"]).second) << name;
    EXPECT_EQ(operation.contains("security"), route.options.open) << name;
    if (route.options.open) {
      EXPECT_TRUE(operation["security"].empty()) << name;
    }
    const bool body = operation.contains("requestBody");
    if (route.options.max_body == 0) {
      EXPECT_FALSE(body) << name;
    }
    if (route.options.body_required) {
      EXPECT_TRUE(body && operation["requestBody"]["required"] == true) << name;
    }
    // These are the same said twice: they read, or say themselves what makes them one (an event's number, an id of the content).
    const bool repeats = route.pattern.starts_with("/v1/validate") || route.pattern.ends_with("/undo") ||
                         route.pattern.ends_with("/learn") || route.pattern.ends_with("_memory") ||
                         route.pattern.ends_with("/revoke_learning");
    if (route.method == "POST" && !repeats) {
      EXPECT_NE(operation["parameters"].dump().find("IdempotencyKey"), std::string::npos) << name;
    }
    for (const auto& segment : route.segments) {
      if (!segment.starts_with('{') || segment == "{id}") continue;
      const auto parameter = segment.substr(1, segment.find_first_of(".}") - 1);
      EXPECT_NE(operation["parameters"].dump().find("\"name\":\"" + parameter + "\""), std::string::npos) << name;
    }
  }
}

void CheckReferences(const Json& document, const Json& value) {
  if (value.is_object() && value.contains("$ref")) {
    const std::string pointer = value["$ref"].get<std::string>().substr(1);
    EXPECT_TRUE(document.contains(Json::json_pointer(pointer))) << pointer;
  }
  if (value.is_structured()) {
    for (const auto& item : value) CheckReferences(document, item);
  }
}

TEST_F(OpenApi, EveryReferenceResolves) {
  EXPECT_EQ(document_["openapi"], "3.1.0");
  CheckReferences(document_, document_);
}

// The part of projects is the table of operations written out; ACL_UPDATE_DOCS=1 rewrites it.
TEST_F(OpenApi, ThePartOfProjectsIsTheTable) {
  const std::string path = ACL_SOURCE_DIR "/docs/reference/openapi.json";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string want = WithProjects(Json::parse(text.str())).dump(1) + "\n";
  if (std::getenv("ACL_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << want;
  } else {
    EXPECT_EQ(text.str(), want) << "run the test with ACL_UPDATE_DOCS=1, build again, and commit docs/reference/openapi.json";
  }
}

TEST_F(OpenApi, IsTheFileInDocs) {
  std::ifstream file(ACL_SOURCE_DIR "/docs/reference/openapi.json");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Ask("GET", "/openapi.json").text, text.str());
}

}  // namespace
}  // namespace acl::coordinator
