// The providers' file: what it may say, and that no key ever stands in it or in what is said of it.
#include "shared/aegis/provider/provider_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shared/aegis/provider/model_providers.h"

namespace acl::aegis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string WrongIn(const std::string& providers) {
  const auto parsed = ParseProviders(*ParseJson("{\"providers\":" + providers + "}"));
  return parsed ? "" : parsed.message();
}

TEST(ProviderConfig, EverythingItMaySay) {
  const auto parsed = ParseProviders(*ParseJson(R"({"currency":"EUR","providers":[
    {"name":"local","kind":"openai","base_url":"http://127.0.0.1:8080/v1/","model":"smollm2-135m"},
    {"name":"claude","kind":"anthropic","base_url":"https://api.anthropic.com/v1","key_file":"/etc/acl/claude.key","model":"x",
     "connect_timeout_ms":1000,"total_timeout_ms":60000,"quiet_timeout_ms":5000,"max_answer_bytes":100000,"max_request_bytes":100000,
     "calls_at_once":4,"calls_waiting":10,"requests_per_minute":50,"tokens_per_minute":40000,"attempts":2,"first_wait_ms":10,
     "longest_wait_ms":1000,"retry_unknown_outcomes":true,"omit":["temperature","tool_choice"],"max_tokens_name":"max_tokens",
     "allow_private_networks":true,"ca_file":"/etc/ca.pem",
     "prices":[{"model":"x","from":"2026-01-01T00:00:00Z","prompt":"3","completion":"15"}]}]})"));
  ASSERT_TRUE(parsed) << parsed.message();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].base_url, "http://127.0.0.1:8080/v1");
  EXPECT_EQ((*parsed)[0].kind, ProviderKind::kOpenAi);
  const ProviderConfig& claude = (*parsed)[1];
  EXPECT_EQ(claude.kind, ProviderKind::kAnthropic);
  EXPECT_EQ(claude.limits.tokens_per_minute, 40'000);
  EXPECT_TRUE(claude.retries.when_unknown);
  EXPECT_EQ(claude.dialect.omit, (std::vector<std::string>{"temperature", "tool_choice"}));
  EXPECT_EQ(claude.prices.currency, "EUR");
  EXPECT_EQ(claude.prices.rows.size(), 1u);
  EXPECT_EQ(ShowProvider(claude).at("key_file"), "/etc/acl/claude.key");
}

TEST(ProviderConfig, WhatIsWrongIsSaidWithItsPlace) {
  const std::string good = R"("name":"a","base_url":"http://127.0.0.1:1/v1")";
  EXPECT_EQ(WrongIn("[{" + good + "}]"), "");
  EXPECT_THAT(WrongIn(R"([{"name":"a"}])"), HasSubstr("providers[0].base_url: is missing"));
  EXPECT_THAT(WrongIn(R"([{"name":"A b","base_url":"x"}])"), HasSubstr("providers[0].name: is made of"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"knid":"openai"}])"), HasSubstr("providers[0]: 'knid' is unknown"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"kind":"gemini"}])"), HasSubstr("providers[0].kind: must be openai"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"attempts":0}])"), HasSubstr("attempts: must be a whole number from 1 to 20"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"omit":["messages"]}])"), HasSubstr("omit: must be a list of parameters"));
  EXPECT_THAT(WrongIn("[{" + good + "},{" + good + "}]"), HasSubstr("providers[1].name: another provider"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"prices":[{"model":"x"}]}])"), HasSubstr("providers[0].prices: prices[0]: from is missing"));
  EXPECT_THAT(WrongIn("7"), HasSubstr("providers: a list is missing"));
  EXPECT_THAT(WrongIn("[{" + good + R"(,"api_key":"sk-secret"}])"), AllOf(HasSubstr("write key_file"), Not(HasSubstr("sk-secret"))));
}

TEST(ProviderConfig, AKeyIsReadFromAFileOfItsReaderAlone) {
  std::string folder = std::filesystem::temp_directory_path() / "acl-key-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/key";
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
    return ReadProviderKey({.name = "p", .key_file = file});
  };
  const auto read = write("  sk-secret\n", 0600);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(*read, "sk-secret");
  for (const auto& bad : {write("sk-secret", 0644), write("", 0600), write("sk-secret two", 0600), write("sk-secret\nX-Evil: 1", 0600)}) {
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.message(), Not(HasSubstr("secret")));
  }
  EXPECT_TRUE(ReadProviderKey({.name = "p"})->empty());
  EXPECT_FALSE(ReadProviderKey({.name = "p", .key_file = folder + "/none"}));
  std::filesystem::remove_all(folder);
}

TEST(ProviderConfig, AFileIsOpenedWhole) {
  SystemClock clock;
  SystemRandom random;
  std::string folder = std::filesystem::temp_directory_path() / "acl-providers-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/providers.json";
  const auto open = [&](const std::string& more) {
    std::ofstream(file)
        << R"({"providers":[{"name":"b","base_url":"http://127.0.0.1:1/v1"},{"name":"a","base_url":"https://example.org/v1")" << more
        << "}]}";
    return ModelProviders::Open(file, clock, random);
  };
  const auto providers = open("");
  ASSERT_TRUE(providers) << providers.message();
  EXPECT_EQ(providers->names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ((*providers->Find(""))->provider().name, "b");
  EXPECT_EQ((*providers->Find("a"))->provider().name, "a");
  EXPECT_THAT(providers->Find("c").message(), HasSubstr("there are: b a"));
  EXPECT_THAT(open(R"(,"key_file":"/nowhere/key")").message(),
              AllOf(HasSubstr("providers.json: provider a: key_file"), HasSubstr("No such file")));
  EXPECT_FALSE(ModelProviders::Open(folder + "/none.json", clock, random));
  std::ofstream(file) << R"({"providers":[]})";
  EXPECT_THAT(ModelProviders::Open(file, clock, random).message(), HasSubstr("no provider is listed"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace acl::aegis
