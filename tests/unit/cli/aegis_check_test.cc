// The harness of document 004, section 11: a sound record is green, and each line is red on a violation planted for it.
#include "cli/aegis_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "cli/exchange_page.h"
#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"

namespace acl::cli {
namespace {

std::string HashOf(const std::string& text) { return "sha256:" + ToHex(Sha256(text)); }

const Json kBundle = {{"session_id", "s1"},
                      {"phase", "beta"},
                      {"tier", 2},
                      {"kernel_hash", "sha256:k"},
                      {"host_role", "brain"},
                      {"model_id", "local tiny"},
                      {"compiled_at", "2027-01-15T08:00:00Z"},
                      {"sight",
                       {{"sys_health",
                         {{"available", true},
                          {"observed_at", "2027-01-15T08:00:00Z"},
                          {"freshness_s", 0},
                          {"values", {{"cpu_load", 0.5}}},
                          {"unknowns", Json::array()}}},
                        {"index_status", {{"available", false}, {"reason", "not_installed"}}}}},
                      {"constraints", Json::array()},
                      {"facts", {{{"id", "ledger:000001"}, {"claim", "The port is 80."}}}},
                      {"intent", {{{"intent", "Answer."}, {"source", "system"}}}}};

class AegisCheck : public ::testing::Test {
 protected:
  AegisCheck() {
    sound_.exchange = {{"exchange_id", "e1"},
                       {"session_id", "s1"},
                       {"status", "RECORDED"},
                       {"prepared_at", "2027-01-15T08:00:00.500000Z"},
                       {"ended_at", "2027-01-15T08:00:02.000000Z"},
                       {"prompt", "[]"},
                       {"prompt_hash", HashOf("[]")},
                       {"response", "The report."},
                       {"response_hash", HashOf("The report.")},
                       {"validator_summary", {{"schema_ok", true}}},
                       {"turns",
                        {{{"speaker", "user"}, {"content", "What is next?"}, {"content_hash", HashOf("What is next?")}},
                         {{"speaker", "aurora"}, {"content", "The report."}, {"content_hash", HashOf("The report.")}}}},
                       {"refs",
                        {{{"artifact_id", "ledger:000001"}, {"artifact_type", "ledger_fact"}, {"included_reason", "relevant"}},
                         {{"artifact_id", "tool:01"}, {"artifact_type", "sys_health"}, {"included_reason", "sight"}}}}};
    PutBundle(sound_, kBundle);
    sound_.session =
        Json{{"session_id", "s1"}, {"phase", "beta"}, {"kernel_hash", "sha256:k"}, {"host_role", "brain"}, {"model_id", "local tiny"}};
    sound_.rebuilt = Json{{"same", true}};
    sound_.shown = "The report.";
    sound_.planted = "ghp_planted";
  }
  static void PutBundle(CheckedExchange& checked, const Json& bundle) {
    checked.exchange["context_bundle"] = CanonicalJson(bundle);
    checked.exchange["context_bundle_hash"] = HashOf(CanonicalJson(bundle));
  }
  static std::vector<std::string> Red(const CheckedExchange& checked) {
    std::vector<std::string> red;
    for (const CheckLine& line : CheckExchange(checked))
      if (!line.ok) red.push_back(line.section + " " + line.name);
    return red;
  }
  CheckedExchange sound_;
};

TEST_F(AegisCheck, ASoundRecordIsGreen) {
  EXPECT_EQ(Red(sound_), std::vector<std::string>());
  EXPECT_EQ(CheckExchange(sound_).size(), 14u);
  sound_.session.reset(), sound_.rebuilt.reset(), sound_.shown.reset(), sound_.planted.reset();
  EXPECT_EQ(CheckExchange(sound_).size(), 10u) << "what was not looked at is not said to be right";
}

TEST_F(AegisCheck, EachLineIsRedOnItsViolation) {
  using Plant = std::function<void(CheckedExchange&)>;
  const auto bundle = [](const std::function<void(Json&)>& change) {
    return [change](CheckedExchange& checked) {
      Json changed = kBundle;
      change(changed);
      PutBundle(checked, changed);
    };
  };
  const std::vector<std::pair<std::string, Plant>> plants = {
      {"11.1 bundle", [](CheckedExchange& c) { c.exchange["context_bundle"] = "", c.exchange["context_bundle_hash"] = HashOf(""); }},
      {"11.1 bundle", bundle([](Json& b) { b["session_id"] = "another"; })},
      {"11.1 bundle_hash", [](CheckedExchange& c) { c.exchange["context_bundle_hash"] = HashOf("something else"); }},
      {"11.1 compiled_before_call", bundle([](Json& b) { b["compiled_at"] = "2027-01-15T08:10:00Z"; })},
      {"11.1 compiled_before_call", [](CheckedExchange& c) { std::swap(c.exchange["prepared_at"], c.exchange["ended_at"]); }},
      {"11.1 rebuilt",
       [](CheckedExchange& c) {
         c.rebuilt = Json{{"same", false}};
       }},
      {"11.2 session", [](CheckedExchange& c) { c.session = Json(); }},
      {"11.2 session", [](CheckedExchange& c) { (*c.session)["model_id"] = "another"; }},
      {"11.2 two_turns", [](CheckedExchange& c) { c.exchange["turns"].push_back(c.exchange["turns"][0]); }},
      {"11.2 exchange", [](CheckedExchange& c) { c.exchange["status"] = "UNDER_WAY"; }},
      {"11.2 exchange", [](CheckedExchange& c) { c.exchange["validator_summary"] = Json(); }},
      {"11.2 refs", [](CheckedExchange& c) { c.exchange["refs"].erase(0); }},
      {"11.2 refs", [](CheckedExchange& c) { c.exchange["refs"][0]["included_reason"] = ""; }},
      {"11.2 refs", bundle([](Json& b) { b["facts"] = Json::array(); })},
      {"11.3 sight", bundle([](Json& b) { b["sight"]["sys_health"]["values"] = Json::object(); })},
      {"11.3 sight", bundle([](Json& b) { b["sight"]["index_status"]["reason"] = "because"; })},
      {"11.3 sight", bundle([](Json& b) { b["sight_without_values"] = {"index_status"}; })},
      {"11.4 no_secret", [](CheckedExchange& c) { c.exchange["asked_by"] = "ghp_planted"; }},
      {"11.4 hash_linkage", [](CheckedExchange& c) { c.exchange["turns"][0]["content"] = "another question"; }},
      {"11.5 prompt_hash", [](CheckedExchange& c) { c.exchange["prompt"] = "[1]"; }},
      {"11.5 response_hash", [](CheckedExchange& c) { c.exchange["response_hash"] = HashOf("another"); }},
      {"10.3 shown_is_recorded", [](CheckedExchange& c) { c.shown = "something else"; }},
  };
  for (const auto& [line, plant] : plants) {
    CheckedExchange planted = sound_;
    plant(planted);
    const auto red = Red(planted);
    EXPECT_NE(std::find(red.begin(), red.end(), line), red.end()) << line;
    // What hangs on a bundle that is not there goes with it.
    const bool alone = red.size() == 1 || line == "11.1 bundle";
    EXPECT_TRUE(alone) << line << ": " << red.size() << " lines are red, among them " << red.front();
  }
}

TEST_F(AegisCheck, ThePageHoldsAllOfItAndNoMarkupFromOutside) {
  sound_.exchange["turns"][1]["content"] = "<script>alert('x')</script> & \x1b[31mred";
  sound_.exchange["provider"] = "local\" onload=\"x";
  const std::string page = ExchangePage(sound_.exchange);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&#39;x&#39;)"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("onload=\"x"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos) << "it fetches nothing";
  for (const char* there : {"What is next?", "ledger:000001", "relevant", "cpu_load"})
    EXPECT_NE(page.find(there), std::string::npos) << there;
}

}  // namespace
}  // namespace acl::cli
