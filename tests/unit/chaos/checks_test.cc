// A history in order has no finding; one line of it changed, and the check that is there for it finds it.
#include "chaos/history/checks.h"

#include <gtest/gtest.h>

#include "chaos/history/history.h"
#include "chaos/report/report.h"

namespace acl::chaos {
namespace {

const char* kGood = R"({"type":"run","t":1,"seed":"1","profile":"quick","fence_must_refuse":true}
{"type":"invoke","t":2,"op":1,"process":"client-0","f":"submit","args":{"key":"k1","kind":"effects"}}
{"type":"info","t":3,"op":1,"process":"client-0","f":"submit","value":{"status":503}}
{"type":"fault","t":4,"n":1,"kind":"kill-worker","number":"N1","event":"inject"}
{"type":"fault","t":5,"n":1,"kind":"kill-worker","number":"N1","event":"observed"}
{"type":"invoke","t":6,"op":2,"process":"client-0","f":"submit","args":{"key":"k1","kind":"effects"}}
{"type":"ok","t":7,"op":2,"process":"client-0","f":"submit","value":{"status":201,"id":"r1"}}
{"type":"fault","t":8,"n":1,"kind":"kill-worker","number":"N1","event":"healed"}
{"type":"fault","t":9,"n":1,"kind":"kill-worker","number":"N1","event":"well","facts":{}}
{"type":"invoke","t":10,"op":3,"process":"client-0","f":"submit","args":{"key":"k2","kind":"saga"}}
{"type":"ok","t":11,"op":3,"process":"client-0","f":"submit","value":{"status":201,"id":"r2"}}
{"type":"invoke","t":12,"op":4,"process":"client-0","f":"read","args":{"id":"r1"}}
{"type":"ok","t":13,"op":4,"process":"client-0","f":"read","value":{"status":200,"id":"r1","head_seq":3}}
{"type":"invoke","t":14,"op":5,"process":"client-0","f":"read","args":{"id":"r1"}}
{"type":"ok","t":15,"op":5,"process":"client-0","f":"read","value":{"status":200,"id":"r1","head_seq":4}}
{"type":"metrics","t":16,"fence_refusals":1.0}
{"type":"final","t":17,"run":"r1","status":"COMPLETED","key":"k1","kind":"effects"}
{"type":"final","t":18,"run":"r2","status":"ROLLED_BACK","key":"k2","kind":"saga"}
{"type":"effect","t":19,"run":"r1","step":"pay-1","key":"a","token":5,"scope":"run","body":"","verdict":"applied"}
{"type":"effect","t":20,"run":"r1","step":"pay-1","key":"a","token":7,"scope":"run","body":"","verdict":"replayed"}
{"type":"effect","t":21,"run":"r1","step":"pay-2","key":"b","token":5,"scope":"run","body":"","verdict":"stale"}
{"type":"effect","t":22,"run":"r1","step":"pay-2","key":"b","token":7,"scope":"run","body":"","verdict":"applied"}
{"type":"effect","t":23,"run":"r1","step":"pay-3","key":"c","token":7,"scope":"run","body":"","verdict":"applied","signature":"good"}
{"type":"effect","t":24,"run":"r2","step":"book-1","key":"d","token":3,"scope":"run","body":"","verdict":"applied"}
{"type":"effect","t":25,"run":"r2","step":"book-2","key":"e","token":3,"scope":"run","body":"","verdict":"applied"}
{"type":"effect","t":26,"run":"r2","step":"cancel-2","key":"f","token":3,"scope":"run","body":"","verdict":"applied"}
{"type":"effect","t":27,"run":"r2","step":"cancel-1","key":"g","token":3,"scope":"run","body":"","verdict":"applied"}
{"type":"checker","t":28,"id":"i03","what":"the fence","examined":40,"anomalies":0,"examples":[]}
{"type":"end","t":29}
)";

std::vector<Json> Lines(std::string text = kGood) {
  auto lines = ParseHistory(text);
  EXPECT_TRUE(lines.ok()) << lines.error();
  return lines ? *lines : std::vector<Json>{};
}

// The good history with one thing changed.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Found(const std::string& text) {
  std::string ids;
  for (const Finding& finding : CheckHistory(Lines(text))) {
    if (finding.anomalies > 0) ids += finding.id + " ";
  }
  return ids;
}

TEST(Checks, AHistoryInOrderHasNoFindingAndEveryCheckLookedAtSomething) {
  for (const Finding& finding : CheckHistory(Lines())) {
    EXPECT_EQ(finding.anomalies, 0) << finding.id << ": " << (finding.examples.empty() ? "" : finding.examples[0]);
    EXPECT_GT(finding.examined, 0) << finding.id;
  }
  EXPECT_TRUE(WhyInvalid(Lines()).empty());
}

// A run of rounds goes on as new under the labels of the first: one more or one less, and somebody began a round twice, or lost one.
TEST(Checks, RoundsAreCounted) {
  std::string text = With(R"({"type":"effect","t":19)",
                          R"({"type":"final","t":18,"run":"r3","status":"COMPLETED","key":"k3","kind":"rounds"}
{"type":"final","t":18,"run":"r4","status":"COMPLETED","key":"k3","kind":"rounds"}
{"type":"final","t":18,"run":"r5","status":"COMPLETED","key":"k3","kind":"rounds"}
{"type":"effect","t":19)");
  EXPECT_EQ(Found(text), "");
  const std::string third = R"({"type":"final","t":18,"run":"r5","status":"COMPLETED","key":"k3","kind":"rounds"})";
  std::string twice = text, lost = text;
  twice.replace(twice.find(third), third.size(),
                third + "\n" + R"({"type":"final","t":18,"run":"r6","status":"COMPLETED","key":"k3","kind":"rounds"})");
  lost.replace(lost.find(third) - 1, third.size() + 1, "");
  EXPECT_EQ(Found(twice), "h02 ");
  EXPECT_EQ(Found(lost), "h02 ");
}

TEST(Checks, EachFindsItsOwn) {
  const std::string drop_r1 = R"({"type":"final","t":17,"run":"r1","status":"COMPLETED","key":"k1","kind":"effects"})";
  EXPECT_NE(Found(With(drop_r1, "")).find("h01"), std::string::npos) << "an acknowledged run is gone";
  EXPECT_NE(Found(With("\"status\":\"COMPLETED\"", "\"status\":\"FAILED\"")).find("h01"), std::string::npos);
  EXPECT_EQ(Found(With(drop_r1, drop_r1 + "\n" + R"({"type":"final","t":17,"run":"r9","status":"COMPLETED","key":"k1","kind":"steps"})")),
            "h02 ")
      << "a key made two runs";
  EXPECT_EQ(Found(With(R"("key":"a","token":7,"scope":"run","body":"","verdict":"replayed")",
                       R"("key":"a2","token":7,"scope":"run","body":"","verdict":"applied")")),
            "h03 ")
      << "a step asked under a second key, and applied twice";
  EXPECT_EQ(Found(With(R"("step":"cancel-2","key":"f")", R"("step":"cancel-1","key":"g")")).substr(0, 4), "h03 ")
      << "undone in the wrong order";
  EXPECT_EQ(Found(With(R"("key":"b","token":5,"scope":"run","body":"","verdict":"stale")",
                       R"("key":"b","token":5,"scope":"run","body":"","verdict":"applied")"))
                    .find("h04") != std::string::npos,
            true)
      << "the outside took a stale token";
  EXPECT_EQ(Found(With(R"("signature":"good")", R"("signature":"no signature is by a key that is known")")), "h09 ");
  EXPECT_EQ(Found(With("\"head_seq\":4", "\"head_seq\":2")), "h05 ");
  EXPECT_EQ(Found(With(R"({"type":"info","t":3,"op":1,"process":"client-0","f":"submit","value":{"status":503}})",
                       R"({"type":"fail","t":3,"op":1,"process":"client-0","f":"submit","value":{"status":422}})")),
            "h06 ");
  EXPECT_EQ(Found(With(R"({"type":"ok","t":11,"op":3,)", R"({"type":"ok","t":8,"op":3,)")), "h07 ") << "no answer after the last fault";
}

TEST(Checks, AFaultThatWasNotSeenMakesTheRunInvalid) {
  const auto why = [](const std::string& text) { return WhyInvalid(Lines(text)).size(); };
  EXPECT_EQ(why(With(R"({"type":"fault","t":5,"n":1,"kind":"kill-worker","number":"N1","event":"observed"})", "")), 1u);
  EXPECT_EQ(why(With(R"("event":"well","facts":{})", R"("event":"failed","error":"heal: not seen")")), 1u);
  EXPECT_EQ(why(With("\"fence_refusals\":1.0", "\"fence_refusals\":0.0")), 1u) << "the fence was not exercised";
  EXPECT_EQ(why(With("\"fence_must_refuse\":true", "\"fence_must_refuse\":false")), 0u);
  EXPECT_EQ(why(With(R"({"type":"end","t":29})", "")), 1u) << "the driver was killed";
}

TEST(Report, SaysPassedFailedOrInvalid) {
  EXPECT_EQ(MakeReport(Lines(), "h").outcome, Outcome::kPassed);
  EXPECT_EQ(MakeReport(Lines(With("\"fence_refusals\":1.0", "\"fence_refusals\":0.0")), "h").outcome, Outcome::kInvalid);
  EXPECT_EQ(MakeReport(Lines(With("\"examined\":40,\"anomalies\":0", "\"examined\":40,\"anomalies\":1")), "h").outcome, Outcome::kFailed);
}

TEST(Report, NamesWhatANoteOfItMustName) {
  const Report report = MakeReport(Lines(), "h.jsonl");
  EXPECT_EQ(report.json["faults"][0]["observed"], 1);
  EXPECT_EQ(report.json["operations"]["submit"]["ok"], 2);
  EXPECT_EQ(report.json["operations"]["submit"]["info"], 1);
  EXPECT_EQ(report.json["effects"]["stale"], 1);
  EXPECT_FALSE(report.json["not_claimed"].empty());
  const std::string text = ToText(report.json), page = ToHtml(report.json);
  for (const char* word : {"kill-worker", "i03", "0 of 40", "airun chaos check h.jsonl"}) {
    EXPECT_NE(page.find(word), std::string::npos) << word;
  }
  EXPECT_NE(text.find("seed 1: passed"), std::string::npos) << text;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "it needs nothing from elsewhere";
}

TEST(Report, WhatComesFromOutsideIsEscaped) {
  const Report report = MakeReport(Lines(With("\"profile\":\"quick\"", R"("profile":"<b>&\"")")), "h");
  EXPECT_NE(ToHtml(report.json).find("&lt;b&gt;&amp;&quot;"), std::string::npos);
}

TEST(ParseHistory, SaysWhichLineIsNone) {
  EXPECT_EQ(ParseHistory("").code(), Code::kInvalid);
  EXPECT_EQ(ParseHistory("{\"type\":\"ok\",\"t\":1}\n").code(), Code::kInvalid) << "it does not begin with the run";
  const auto bad = ParseHistory("{\"type\":\"run\",\"t\":1}\n\nnot json\n");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.message().find("line 3"), std::string::npos) << bad.message();
}

// The database moved to a standby that was behind: r1 was acknowledged in that time and may be gone; r2 was not, and may not.
TEST(Checks, WhatAFailoverMayLoseIsCountedAndNothingElse) {
  const auto without = [](const std::string& run, bool moved) {
    std::vector<Json> left;
    for (Json line : Lines()) {
      if (line["type"] == "final" && line["run"] == run) continue;
      if (moved && line["type"] == "fault" && line["event"] == "well") line["facts"] = {{"loses_from", 5}, {"loses_until", 9}};
      if (line["type"] == "ok" && line["f"] == "read" && run == "r1") line["type"] = "fail", line["value"] = {{"status", 404}};
      if (line["type"] == "effect") line["at"] = 8;
      left.push_back(line);
    }
    std::string ids;
    for (const Finding& finding : CheckHistory(left)) {
      if (finding.anomalies > 0) ids += finding.id + " ";
    }
    return ids;
  };
  EXPECT_EQ(without("", true), "");
  EXPECT_EQ(without("r1", true), "");
  EXPECT_NE(without("r2", true), "") << "acknowledged after it";
  EXPECT_NE(without("r1", false), "") << "no such time is named";
}

}  // namespace
}  // namespace acl::chaos
