// Standard Webhooks 1.0.0 beside its reference libraries of npm and PyPI: what they sign is what we sign, what we signed they take, and
// what they say to a message that is not as it should be, we say (corpora/webhook_questions.mjs).
#include "shared/webhook/webhook.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

std::vector<webhook::Key> Keys(const std::vector<std::string>& texts) {
  std::vector<webhook::Key> keys;
  for (const std::string& text : texts) {
    auto key = webhook::Key::Parse(text);
    EXPECT_TRUE(key.ok()) << key.message();
    if (key.ok()) keys.push_back(*key);
  }
  return keys;
}

WallTime At(const Json& seconds) { return WallTimeFromMicros(seconds.get<std::int64_t>() * 1'000'000); }

Status Verify(const Json& one) {
  const Json& headers = one["headers"];
  return webhook::Verify({headers.value("webhook-id", ""), headers.value("webhook-timestamp", ""), headers.value("webhook-signature", "")},
                         one["body"].get<std::string>(), Keys({one["secret"].get<std::string>()}), At(one["now"]));
}

TEST(WebhookCorpus, WeSignWhatTheySign) {
  int ran = 0;
  const Json cases = Load("webhooks");
  for (const Json& one : cases["signed"]) {
    const auto keys = Keys({one["secret"].get<std::string>()});
    const std::string body = one["body"].get<std::string>();
    const auto ours = webhook::Sign(keys, one["id"].get<std::string>(), At(one["timestamp"]), body);
    ASSERT_TRUE(ours.ok()) << one["name"] << ": " << ours.message();
    EXPECT_EQ(ours->signature, one["npm"]) << one["name"];
    EXPECT_EQ(ours->signature, one["pypi"]) << one["name"];
    EXPECT_TRUE(webhook::Verify({ours->id, ours->timestamp, one["npm"]}, body, keys, At(one["timestamp"])).ok()) << one["name"];
    ++ran;
  }
  EXPECT_EQ(ran, 108);
}

TEST(WebhookCorpus, TheyTakeWhatWeSigned) {
  int ran = 0;
  const Json cases = Load("webhooks");
  for (const Json& one : cases["ours"]) {
    EXPECT_EQ(one["npm"], true) << one["name"];
    EXPECT_EQ(one["pypi"], true) << one["name"];
    EXPECT_TRUE(Verify(one).ok()) << one["name"];
    ++ran;
  }
  EXPECT_EQ(ran, 5);
  // And what they were given is what we sign today.
  for (const Json& one : ReadJsonFile(ACL_SOURCE_DIR "/tests/outside/corpora/webhook_ours.json")) {
    auto texts = one["secrets"].get<std::vector<std::string>>();
    for (const Json& more : one.value("more", Json::array())) texts.push_back(more.get<std::string>());
    const auto ours = webhook::Sign(Keys(texts), one["id"].get<std::string>(), At(one["timestamp"]), one["body"].get<std::string>());
    ASSERT_TRUE(ours.ok()) << ours.message();
    EXPECT_EQ(ours->signature, one["signature"]) << one["id"];
  }
}

void Compare(const char* peer, const std::vector<Deviation>& deviations) {
  Held held(std::string("standardwebhooks of ") + peer, deviations);
  const Json cases = Load("webhooks");
  for (const Json& one : cases["verified"]) {
    const Status ours = Verify(one);
    held.Check(one["name"], ours.ok() == one[peer].get<bool>(), ours.ok() ? "we take it" : "we refuse it: " + ours.message());
  }
  EXPECT_EQ(held.ran(), 58);
}

constexpr const char* kIds = "the specification wants no full stop in an id, it ends it in what is signed; and nothing that is not seen";

TEST(WebhookCorpus, Npm) {
  Compare("npm", {{kIds, {"an id with a full stop", "an id with a space", "an id that is not ASCII"}},
                  {"they read the number at the beginning; we take whole seconds, as they were signed",
                   {"a time with a fraction", "a time and a word", "a time with a sign", "a time behind zeros", "a time behind a space"}},
                  {"they look at what is between the first two commas", {"with something behind it"}}});
}

TEST(WebhookCorpus, PyPi) {
  Compare("pypi", {{kIds, {"an id with a full stop", "an id with a space", "an id that is not ASCII"}},
                   {"they read any number; we take whole seconds, as they were signed",
                    {"a time with a fraction", "a time with a sign", "a time behind zeros", "a time behind a space", "an exponent"}},
                   {"their base64 skips what is none", {"with a line break behind it"}},
                   {"they give up at what is no signature; we pass it over", {"behind what has no comma", "behind two spaces"}}});
}

}  // namespace
}  // namespace acl::outside
