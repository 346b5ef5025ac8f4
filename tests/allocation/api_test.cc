// The API: whichever allocation fails, a request is answered rightly or with 503, and what is stored is as it was.

#include "shared/base/memory.h"
#include "shared/http/request_context.h"
#include "tests/allocation/fail_allocation.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

class AllocationApi : public ApiFixture {
 protected:
  // As a connection does: routed, and the handler called within its guard.
  std::optional<HttpResponse> Handle(const std::string& method, const std::string& path, const std::string& body) {
    std::optional<HttpResponse> response;
    (void)WithinMemory([&] {
      HttpRequest request;
      request.method = method;
      request.path = path;
      request.body = body;
      if (!body.empty()) request.headers.emplace_back("content-type", "application/json");
      auto match = router_.Find(method, path);
      request.params = std::move(match.params);
      response = internal::CallHandler(log_, *match.route, request);
      if (response->later) {
        auto later = std::make_shared<std::promise<HttpResponse>>();
        auto given = later->get_future();
        response->later([later](HttpResponse answer) { later->set_value(std::move(answer)); });
        try {
          response = given.get();
        } catch (const std::future_error&) {  // given up: a connection answers 503 then
          response.reset();
        }
      }
    });
    return response;
  }

  void ExpectRightOr503(const std::string& method, const std::string& path, const std::string& body, int right) {
    int good = 0;
    const int asked = test::FailEachAllocation([&] {
      const auto response = Handle(method, path, body);
      if (!response || response->status == 503) return;
      // 200 for 201: memory was short after the run was made, the request was taken up once more, and found its run there.
      EXPECT_TRUE(response->status == right || (right == 201 && response->status == 200)) << response->status << response->body;
      ++good;
    });
    EXPECT_GT(asked, 10) << path;
    EXPECT_GE(good, 1) << path;
  }

  const Logger log_{"allocation-test"};
};

TEST_F(AllocationApi, ViewsAreGivenOrNot) {
  const std::string id = Submit();
  const std::string before = Ask("GET", "/v1/workflows/" + id).text;
  for (const char* what : {"", "/events", "/steps"}) {
    if (router_.Find("GET", "/v1/workflows/" + id + what).route != nullptr) ExpectRightOr503("GET", "/v1/workflows/" + id + what, "", 200);
  }
  ExpectRightOr503("GET", "/v1/workflows", "", 200);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).text, before);
}

TEST_F(AllocationApi, FilesAreValidatedOrNot) { ExpectRightOr503("POST", "/v1/validate", Json({{"workflow", kYaml}}).dump(), 200); }

TEST_F(AllocationApi, RunsAreMadeOrNot) {
  ExpectRightOr503("POST", "/v1/workflows", Json({{"workflow", kYaml}}).dump(), 201);
  // Each that was made is whole.
  const auto listed = Ask("GET", "/v1/workflows?limit=200");
  ASSERT_EQ(listed.status, 200);
  ASSERT_GE(listed.body["workflows"].size(), 1u);
  for (const Json& run : listed.body["workflows"]) EXPECT_EQ(Ask("GET", "/v1/workflows/" + run["id"].get<std::string>()).status, 200);
}

TEST_F(AllocationApi, ActionsAreTakenOrNot) {
  const std::string id = Submit();
  ExpectRightOr503("POST", "/v1/workflows/" + id + "/cancel", R"({"reason":"no longer needed, by nobody"})", 202);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).status, 200);
}

}  // namespace
}  // namespace acl::coordinator
