// When cron-parser and croner (npm) say that an expression fires, against ours: our own questions (corpora/cron_questions.mjs).
#include "shared/schedule/cron.h"
#include "shared/base/clock.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

Json Ours(const Json& one) {
  const auto cron = schedule::ParseCron(one["text"].get<std::string>());
  if (!cron.ok()) return "refused: " + cron.message();
  const auto zone = TimeZone::Load(one["zone"].get<std::string>());
  const std::int64_t after = MicrosOf(*ParseWallTime(one["after"].get<std::string>())) / 1'000'000;
  return schedule::NextFires(*cron, *zone, after, 6);
}

void Compare(const char* peer, const std::vector<Deviation>& deviations) {
  Held held(peer, deviations);
  for (const Json& one : Load("cron")) {
    const Json ours = Ours(one), theirs = one[peer];
    const bool same = ours.is_string() || theirs.is_string() ? ours.is_string() && theirs.is_string() : ours == theirs;
    held.Check(one["name"], same, DumpJson(ours) + ", they: " + DumpJson(theirs));
  }
  EXPECT_EQ(held.ran(), 446);
}

TEST(CronCorpus, CronParser) {
  Compare(
      "cron-parser",
      {
          {"they fill in what is missing; we refuse what is no expression",
           {" in UTC after 2027-01-31T23:59:30Z", "* in UTC after 2027-01-31T23:59:30Z", "* * * in UTC after 2027-01-31T23:59:30Z",
            " in UTC after 2028-02-28T12:00:00Z", "* in UTC after 2028-02-28T12:00:00Z", "* * * in UTC after 2028-02-28T12:00:00Z",
            " in Asia/Kolkata after 2027-12-31T18:00:00Z", "* in Asia/Kolkata after 2027-12-31T18:00:00Z",
            "* * * in Asia/Kolkata after 2027-12-31T18:00:00Z", " in America/Phoenix after 2027-06-30T06:59:59Z",
            "* in America/Phoenix after 2027-06-30T06:59:59Z", "* * * in America/Phoenix after 2027-06-30T06:59:59Z"}},
          {"a local time that does not exist: they fire an hour later, we do not fire",
           {"30 */2 * * * in Europe/Berlin after 2027-03-27T23:30:00Z", "30 2 * * * in Europe/Berlin after 2027-03-27T23:30:00Z",
            "15 2,14 * * * in Europe/Berlin after 2027-03-27T23:30:00Z", "30 */2 * * * in America/New_York after 2027-03-14T05:30:00Z",
            "30 2 * * * in America/New_York after 2027-03-14T05:30:00Z", "15 2,14 * * * in America/New_York after 2027-03-14T05:30:00Z",
            "30 */2 * * * in America/Santiago after 2027-09-05T02:30:00Z", "0 0 * * * in America/Santiago after 2027-09-05T02:30:00Z"}},
          {"they count hours where half an hour is left out, and miss a time that exists",
           {"30 */2 * * * in Australia/Lord_Howe after 2027-10-02T14:00:00Z",
            "*/20 1-3 * * * in Australia/Lord_Howe after 2027-10-02T14:00:00Z"}},
          {"they give up where clocks go back half an hour",
           {"0 * * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z",
            "0 9-17/4 * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z",
            "15 2,14 * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z",
            "0 1 * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z", "0 3 * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z"}},
      });
}
TEST(CronCorpus, Croner) {
  Compare("croner",
          {
              {"they miss the first of March for */10 (1, 11, 21, 31)",
               {"0 0 */10 * * in UTC after 2027-01-31T23:59:30Z", "0 0 */10 * * in UTC after 2028-02-28T12:00:00Z"}},
              {"a local time that does not exist: they fire at another, we do not fire",
               {"30 2 * * * in Europe/Berlin after 2027-03-27T23:30:00Z", "30 2 * * * in America/New_York after 2027-03-14T05:30:00Z",
                "0 0 * * * in America/Santiago after 2027-09-05T02:30:00Z"}},
              {"a local time that comes twice: they fire twice, we once",
               {"30 */2 * * * in Europe/Berlin after 2027-10-30T22:30:00Z", "15 2,14 * * * in Europe/Berlin after 2027-10-30T22:30:00Z",
                "*/20 1-3 * * * in America/New_York after 2027-11-07T04:30:00Z",
                "*/20 1-3 * * * in Australia/Lord_Howe after 2027-04-03T13:30:00Z"}},
          });
}

}  // namespace
}  // namespace acl::outside
