#include "shared/webhook/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "shared/base/base64.h"

namespace acl::webhook {
namespace {

using testing::HasSubstr;
using testing::Not;

// The examples of the specification's own libraries (standard-webhooks on GitHub: test_sign_function, TestAsymmetricWebhookSign).
constexpr const char *kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", *kPrivate = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";
constexpr const char *kId = "msg_p5jXN8AQM9LWM0D4loKWxJek", *kBody = R"({"test": 2432232314})";
const WallTime kAt = WallTimeFromMicros(1'614'265'330'987'654);

std::vector<Key> Keys(std::initializer_list<std::string> texts) {
  std::vector<Key> keys;
  for (const std::string& text : texts) {
    auto key = Key::Parse(text);
    EXPECT_TRUE(key) << key.message();
    if (key) keys.push_back(*key);
  }
  return keys;
}

Headers Signed(const std::vector<Key>& keys, std::string_view body = kBody) {
  auto headers = Sign(keys, kId, kAt, body);
  EXPECT_TRUE(headers) << headers.message();
  return headers ? *headers : Headers{};
}

std::string SecretOf(std::size_t bytes) { return "whsec_" + EncodeBase64(std::string(bytes, 'k')); }

TEST(Webhook, SignsAsTheSpecificationsOwnLibrariesDo) {
  const Headers headers = Signed(Keys({kSecret, kPrivate}));
  EXPECT_EQ(headers.id, kId);
  EXPECT_EQ(headers.timestamp, "1614265330");
  EXPECT_EQ(headers.signature,
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
            "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==");
}

TEST(Webhook, OneKnownKeyOfManyIsEnough) {
  const std::string old_one = SecretOf(32), new_one = SecretOf(64);
  const Headers both = Signed(Keys({old_one, new_one}));
  for (const auto& known : {Keys({old_one}), Keys({new_one}), Keys({kSecret, new_one})}) EXPECT_TRUE(Verify(both, kBody, known, kAt));
  const Status stranger = Verify(both, kBody, Keys({kSecret}), kAt);
  EXPECT_EQ(stranger.code(), Code::kDenied);
  EXPECT_THAT(stranger.message(), HasSubstr("by a key that is known"));
  EXPECT_EQ(Verify(both, kBody, {}, kAt).code(), Code::kDenied) << "nobody is known";
}

TEST(Webhook, Ed25519IsVerifiedByThePublicKeyAlone) {
  // Of RFC 8032, section 7.1, TEST 1.
  const auto bytes = [](std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2) out += char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return out;
  };
  const std::string secret = "whsk_" + EncodeBase64(bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")),
                    known = "whpk_" + EncodeBase64(bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
  const Headers headers = Signed(Keys({secret}));
  EXPECT_TRUE(Verify(headers, kBody, Keys({known}), kAt));
  EXPECT_TRUE(Verify(headers, kBody, Keys({secret}), kAt));
  EXPECT_EQ(Verify(headers, "{}", Keys({known}), kAt).code(), Code::kDenied);
  EXPECT_EQ(Verify(headers, kBody, Keys({kSecret}), kAt).message(), "no signature is of a kind that there is a key for");
  const auto unsigned_by = Sign(Keys({known}), kId, kAt, kBody);
  EXPECT_EQ(unsigned_by.error().code, Code::kInvalid) << "a public key signs nothing";
}

TEST(Webhook, WhatIsChangedIsRefused) {
  const auto keys = Keys({kSecret});
  const Headers good = Signed(keys);
  EXPECT_TRUE(Verify(good, kBody, keys, kAt));
  const auto with = [&](auto change) {
    Headers headers = good;
    change(headers);
    return Verify(headers, kBody, keys, kAt);
  };
  EXPECT_EQ(Verify(good, std::string(kBody) + " ", keys, kAt).code(), Code::kDenied);
  EXPECT_EQ(with([](Headers& h) { h.id += "x"; }).code(), Code::kDenied);
  EXPECT_EQ(with([](Headers& h) { h.timestamp = "1614265331"; }).code(), Code::kDenied);
  for (std::size_t n = 3; n < good.signature.size(); ++n) {
    EXPECT_FALSE(with([n](Headers& h) { h.signature[n] = h.signature[n] == 'A' ? 'B' : 'A'; })) << "letter " << n;
  }
  EXPECT_FALSE(with([](Headers& h) { h.signature = "v2," + h.signature.substr(3); }));
  EXPECT_FALSE(with([](Headers& h) { h.signature = "v1a," + h.signature.substr(3); }));
  EXPECT_FALSE(with([](Headers& h) { h.signature.pop_back(); }));
  EXPECT_FALSE(with([](Headers& h) { h.signature = "v1,"; }));
  EXPECT_TRUE(with([](Headers& h) { h.signature = "v2,AAAA  nonsense v1,AAAA " + h.signature + " v9"; })) << "others are passed over";
}

TEST(Webhook, AMissingOrUnreadableHeaderIsNamed) {
  const auto keys = Keys({kSecret});
  const Headers good = Signed(keys);
  const auto told = [&](auto change) {
    Headers headers = good;
    change(headers);
    const Status verified = Verify(headers, kBody, keys, kAt);
    EXPECT_EQ(verified.code(), Code::kInvalid);
    return verified.message();
  };
  EXPECT_EQ(told([](Headers& h) { h.id.clear(); }), "webhook-id is missing");
  EXPECT_EQ(told([](Headers& h) { h.timestamp.clear(); }), "webhook-timestamp is missing");
  EXPECT_EQ(told([](Headers& h) { h.signature.clear(); }), "webhook-signature is missing");
  for (const char* bad : {"hello", "1614265330.5", " 1614265330", "-1", "+1614265330", "1614265330x", "99999999999999999999"})
    EXPECT_THAT(told([bad](Headers& h) { h.timestamp = bad; }), HasSubstr("webhook-timestamp is not a whole number")) << bad;
  EXPECT_THAT(told([](Headers& h) {
                for (int n = 0; n < 40; ++n) h.signature += " v1,AAAA";
              }),
              HasSubstr("more than 32"));
}

// "a" at 1 with the body "2.x" and "a.1" at 2 with the body "x" would be signed alike.
TEST(Webhook, AnIdMustNotHoldWhatEndsIt) {
  const auto keys = Keys({kSecret});
  for (const char* bad : {"", "a.b", "a b", "a\nb", "\x7f", "\xc3\xa9"}) {
    EXPECT_EQ(Sign(keys, bad, kAt, kBody).error().code, Code::kInvalid) << bad;
    Headers headers = Signed(keys);
    headers.id = bad;
    EXPECT_EQ(Verify(headers, kBody, keys, kAt).code(), Code::kInvalid) << bad;
  }
  EXPECT_FALSE(Sign(keys, std::string(257, 'a'), kAt, kBody));
}

TEST(Webhook, OnlyMessagesOfTheseMinutesAreTaken) {
  const auto keys = Keys({kSecret});
  const Headers headers = Signed(keys);
  const auto at = [&](int seconds, std::chrono::seconds tolerance = kTolerance) {
    return Verify(headers, kBody, keys, kAt + std::chrono::seconds(seconds), tolerance);
  };
  for (const int seconds : {-300, 0, 300}) EXPECT_TRUE(at(seconds)) << seconds;
  EXPECT_EQ(at(301).code(), Code::kDenied);
  EXPECT_EQ(at(301).message(), "webhook-timestamp is 301 s ago, more than 300");
  EXPECT_EQ(at(-301).message(), "webhook-timestamp is 301 s ahead, more than 300");
  EXPECT_TRUE(at(-301, std::chrono::seconds(400)));
  EXPECT_FALSE(at(31, std::chrono::seconds(30)));
}

TEST(Webhook, AKeyIsWhatItShouldBeAndErrorsDoNotShowIt) {
  for (const std::size_t bytes : {24u, 32u, 64u}) EXPECT_TRUE(Key::Parse(SecretOf(bytes))) << bytes;
  const std::string secret(32, 'k');
  for (const std::string& bad :
       {SecretOf(23), SecretOf(65), EncodeBase64(secret), "WHSEC_" + EncodeBase64(secret), std::string("whsec_"), std::string(),
        "whsec_" + EncodeBase64(secret) + " ", "whsk_" + EncodeBase64(secret + "k"), "whpk_" + EncodeBase64(secret.substr(1)),
        std::string("whsec_kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"), "whxx_" + EncodeBase64(secret)}) {
    const auto key = Key::Parse(bad);
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, Code::kInvalid);
    EXPECT_THAT(key.message(), Not(HasSubstr("kkkk")));
    EXPECT_THAT(key.message(), Not(HasSubstr("a2tra")));
  }
}

TEST(Webhook, AnyBytesMakeABody) {
  const auto keys = Keys({kSecret, kPrivate});
  for (const std::string& body : {std::string(), std::string("\0\xff\r\n.", 5), std::string(100'000, 'x')}) {
    const Headers headers = Signed(keys, body);
    EXPECT_TRUE(Verify(headers, body, Keys({kSecret}), kAt));
    EXPECT_TRUE(Verify(headers, body, Keys({kPrivate}), kAt));
  }
}

TEST(Base64, ThereAndBack) {
  for (const auto& [bytes, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(EncodeBase64(bytes), text);  // RFC 4648, section 10
    EXPECT_EQ(DecodeBase64(text), bytes);
  }
  std::string all;
  for (int n = 0; n < 256; ++n) {
    all += char(n);
    EXPECT_EQ(DecodeBase64(EncodeBase64(all)), all);
  }
}

}  // namespace
}  // namespace acl::webhook
