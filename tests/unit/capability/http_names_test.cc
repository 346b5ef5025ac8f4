// Calls by names that have several addresses, or that take their time to be looked up. Which those are is said by the getaddrinfo of this
// binary, which libcurl finds before the C library's.
#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <future>

#include "shared/base/clock.h"
#include "shared/capability/http_client.h"
#include "tests/support/small_server.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using GetAddresses = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
constexpr std::string_view kThreeAddresses = "three-addresses.test", kUnanswered = "unanswered.test";
std::atomic<bool> answering{true};  // false: whoever asks for kUnanswered waits
std::atomic<int> asking{0};         // for it, now

// Nobody listens at the first two.
int ThreeAddresses(GetAddresses real, const char* service, const addrinfo* hints, addrinfo** found) {
  addrinfo** end = found;
  for (const char* address : {"127.0.0.2", "127.0.0.3", "127.0.0.1"}) {
    if (const int code = real(address, service, hints, end); code != 0) return code;
    while (*end) end = &(*end)->ai_next;
  }
  return 0;
}

int Find(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<GetAddresses>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr) return real(node, service, hints, found);
  if (node == kThreeAddresses) return ThreeAddresses(real, service, hints, found);
  if (node != kUnanswered) return real(node, service, hints, found);
  ++asking;
  answering.wait(false);
  --asking;
  asking.notify_all();
  return EAI_AGAIN;
}

class HttpNames : public testing::Test {
 protected:
  using End = HttpAnswer::End;
  HttpNames() {
    config_.allow_private_networks = true;
    config_.connect_timeout = std::chrono::hours(1);  // a call that waits for a part of it does not end in time
  }
  static std::future<HttpAnswer> Get(HttpClient& client, const std::string& url, std::function<bool()> stopped = {}) {
    auto told = std::make_shared<std::promise<HttpAnswer>>();
    HttpCall call;
    call.method = "GET";
    call.url = url;
    call.deadline = SystemClock().Steady() + std::chrono::minutes(1);
    call.stopped = std::move(stopped);
    client.Start(std::move(call), [told](HttpAnswer answer) { told->set_value(std::move(answer)); });
    return told->get_future();
  }
  static std::string UrlOf(std::string_view host, int port) { return "http://" + std::string(host) + ":" + std::to_string(port) + "/"; }

  HttpConfig config_;
  SmallServer server_{[](const std::string&) { return SmallServer::Answer("200 OK", "here"); }};
};

TEST_F(HttpNames, TheThirdAddressIsTriedWhenTwoRefuse) {
  HttpClient client(config_);
  const HttpAnswer answer = Get(client, UrlOf(kThreeAddresses, server_.port())).get();
  EXPECT_EQ(answer.end, End::kAnswered) << answer.error;
  EXPECT_EQ(answer.body, "here");
}

TEST_F(HttpNames, WhatEndsBeforeItsNameIsFoundKeepsNobodyWaiting) {
  answering = false;
  auto client = std::make_unique<HttpClient>(config_);
  auto stopped = Get(*client, UrlOf(kUnanswered, 80), [] { return asking == 2; });
  auto after = Get(*client, UrlOf(kUnanswered, 81));
  std::future<void> ended = std::async(std::launch::async, [&] {
    EXPECT_EQ(stopped.get().end, End::kStopped);
    EXPECT_EQ(Get(*client, server_.Url()).get().end, End::kAnswered);
    client.reset();  // the second is looked up still
    EXPECT_EQ(after.get().end, End::kStopped);
  });
  EXPECT_EQ(ended.wait_for(std::chrono::minutes(1)), std::future_status::ready) << "it waits until the name is found";
  answering = true;
  answering.notify_all();
  ended.wait();
  for (int now = asking; now > 0; now = asking) asking.wait(now);
}

}  // namespace
}  // namespace acl

extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                                                                  addrinfo** found) {
  return acl::Find(node, service, hints, found);
}
