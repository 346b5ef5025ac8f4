#include "shared/telemetry/log.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

const WallTime kTime = *ParseWallTime("2026-11-22T00:36:00.123456Z");

std::string Record(std::string_view message, std::initializer_list<LogField> fields, const std::vector<LogField>& bound = {}) {
  return FormatLogRecord(kTime, LogLevel::kInfo, "claimer", message, bound, fields);
}

TEST(LogRecord, HasTheFixedFieldsFirstThenTheRestInOrder) {
  EXPECT_EQ(
      Record("claimed", {{"step", "hash"}, {"attempt", 2}, {"ok", true}, {"ratio", 0.5}, {"token", Token{4294967297}}}, {{"run_id", "r"}}),
      R"({"ts":"2026-11-22T00:36:00.123456Z","level":"info","msg":"claimed","component":"claimer","run_id":"r",)"
      R"("step":"hash","attempt":2,"ok":true,"ratio":0.5,"token":4294967297})");
}

TEST(LogRecord, AlwaysParses) {
  const std::string nasty = std::string("a\"b\\c\n\t\x01\x7f") + '\0' + "\xff\xfe\xc3(" + "\xe2\x82\xac";
  const auto parsed = Json::parse(Record(nasty, {{"k\"ey\n", nasty}, {"json", Json{{"x", nasty}}}}));
  EXPECT_EQ(parsed["component"], "claimer");
  EXPECT_NE(parsed["msg"].get<std::string>().find("€"), std::string::npos);
  EXPECT_NE(parsed["msg"].get<std::string>().find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_TRUE(parsed.contains("k\"ey\n"));
  EXPECT_EQ(Record(nasty, {}).find('\n'), std::string::npos);
}

TEST(LogRecord, MasksSecretsByNameAndByForm) {
  const auto line =
      Record("connect to postgresql://u:hunter2@db/acl",
             {{"password", "hunter2"},
              {"Api-Key", "hunter2"},
              {"error", Error{Code::kUnavailable, "postgresql://u:hunter2@db refused"}},
              {"request", Json{{"headers", {{"Authorization", "Bearer hunter2"}}}, {"list", Json::array({"http://u:hunter2@x"})}}}});
  EXPECT_EQ(line.find("hunter2"), std::string::npos) << line;
  EXPECT_NE(line.find("unavailable: postgresql://u:***@db refused"), std::string::npos) << line;
}

class LogSink : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, const std::string& line) { lines_.push_back(line); });
  }
  void TearDown() override {
    SetLogSink({});
    SetLogRedaction({});
    SetLogLevel(LogLevel::kInfo);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogSink, WritesWhatIsAtOrAboveTheLevel) {
  Logger log("worker");
  log.Debug("no");
  log.Info("yes");
  SetLogLevel(LogLevel::kError);
  log.Warn("no");
  log.Error("yes");
  SetLogLevel(LogLevel::kOff);
  log.Error("no");
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(LogSink, BindsFieldsToAChildOnly) {
  Logger log("worker");
  Logger child = log.With({{"run_id", "r1"}}).With({{"token", 7}});
  child.Info("x", {{"step", "s"}});
  log.Info("y");
  const auto first = Json::parse(lines_.at(0));
  EXPECT_EQ(first["run_id"], "r1");
  EXPECT_EQ(first["token"], 7);
  EXPECT_EQ(first["step"], "s");
  EXPECT_FALSE(Json::parse(lines_.at(1)).contains("run_id"));
}

TEST_F(LogSink, AsksTheHookToo) {
  SetLogRedaction([](std::string_view key) { return key == "badge"; });
  Logger("worker").Info("x", {{"badge", "hunter2"}});
  EXPECT_EQ(lines_.at(0).find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace acl
