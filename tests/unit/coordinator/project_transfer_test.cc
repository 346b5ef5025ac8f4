// The doors of exports and imports: lines out, lines in, and what is refused.
#include <gmock/gmock.h>

#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Transfers : public ApiFixture {
 protected:
  std::string Exported(const std::string& name = "book") {
    const auto answer = Ask("GET", "/v1/projects/" + name + "/export");
    EXPECT_EQ(answer.status, 200) << answer.text;
    EXPECT_EQ(answer.Header("Content-Type"), "application/x-ndjson");
    return answer.text;
  }
  Answer Import(const std::string& lines, const std::string& query = "?by=ben&as=copy", const std::string& key = "") {
    HttpHeaders headers{{"content-type", "application/x-ndjson"}};
    if (!key.empty()) headers.emplace_back("idempotency-key", key);
    return Ask("POST", "/v1/projects/import" + query, lines, headers);
  }
  void Make() {
    EXPECT_EQ(Post("/v1/projects", {{"name", "book"}, {"by", "ann"}}).status, 201);
    EXPECT_EQ(Post("/v1/projects/book/create_goal", {{"text", "Write"}, {"by", "ann"}}).status, 200);
  }
};

TEST_F(Transfers, WhatIsExportedIsImportedUnderAnotherName) {
  Make();
  const auto made = Import(Exported(), "?by=ben&as=copy", "k1");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["name"], "copy");
  EXPECT_EQ(made.body["event_seq"], 3);
  EXPECT_EQ(made.Header("Location"), "/v1/projects/" + made.body["project_id"].get<std::string>());
  EXPECT_EQ(Ask("GET", "/v1/projects/copy").body["state_digest"], made.body["state_digest"]);
  EXPECT_EQ(Ask("GET", "/v1/projects/book").body["state_digest"], made.body["state_digest"]);
  const auto again = Import(Exported(), "?by=ben&as=copy", "k1");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
}

TEST_F(Transfers, WhatDoesNotFitIsRefused) {
  Make();
  std::string lines = Exported();
  EXPECT_EQ(Ask("GET", "/v1/projects/atlas/export").status, 404);
  const auto taken = Import(lines, "?by=ben");
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(taken.code(), "exists");
  EXPECT_EQ(taken.body["reason"], "EXISTS");
  EXPECT_EQ(Import(lines, "?as=copy").status, 422) << "nobody says who imports it";
  EXPECT_EQ(Import(lines, "?by=ben&as=").code(), "invalid-request");
  lines[lines.find("Write")] = 'w';
  const auto changed = Import(lines);
  EXPECT_EQ(changed.status, 422);
  EXPECT_EQ(changed.code(), "bad-export");
  EXPECT_THAT(changed.body["detail"].get<std::string>(), StartsWith("line 3: "));
  EXPECT_EQ(Ask("GET", "/v1/projects/copy").status, 404);
}

}  // namespace
}  // namespace acl::coordinator
