// What comes over connections: the head of a request, the doorbell's frames, the queue's messages.
#include <google/protobuf/stubs/logging.h>

#include "shared/base/check.h"
#include "shared/base/utf8.h"
#include "shared/http/gate.h"
#include "shared/http/request_context.h"
#include "shared/queue/doorbell_frame.h"
#include "shared/queue/step_message.h"
#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {

namespace {

Router SomeRoutes() {
  Router router;
  const auto none = [](const HttpRequest&) { return HttpResponse::Empty(); };
  router.Add("GET", "/v1/runs", {}, none);
  router.Add("POST", "/v1/runs", {.max_body = 1000, .content_types = {"application/json"}, .body_required = true}, none);
  router.Add("GET", "/v1/runs/{id}", {}, none);
  router.Add("GET", "/v1/runs/{id}/files/{path...}", {}, none);
  return router;
}

// protobuf tells stderr of texts that are not UTF-8; here they are what is looked for.
void BeQuiet() { [[maybe_unused]] static const auto before = google::protobuf::SetLogHandler(nullptr); }

}  // namespace

void FuzzHttpHead(std::string_view bytes) {
  static const Router router = SomeRoutes();
  const auto checked = CheckHead(bytes, {});
  if (const auto* refusal = std::get_if<GateRefusal>(&checked)) {
    ACL_CHECK(refusal->status >= 400 && refusal->status < 600 && !refusal->code.empty(), "a refusal is a client's or a version's");
    return;
  }
  const auto& head = std::get<HttpHead>(checked);
  ACL_CHECK(!(head.chunked && head.has_length), "a body ends in one way");
  ACL_CHECK(head.target.starts_with('/') || head.target == "*", "a target is a path");
  for (const auto& [name, value] : head.headers) {
    ACL_CHECK(!name.empty() && name.find_first_of(" \t\r\n:_") == std::string::npos, "a name is a token");
    ACL_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos, "a value is of one line");
  }
  HttpRequest request;
  const Route* route = nullptr;
  if (const auto answer = internal::FillRequest(head, router, request, route)) {
    ACL_CHECK(answer->status >= 200 && answer->status < 500, "nothing in a head is our fault");
    return;
  }
  ACL_CHECK(route != nullptr, "no answer: there is a route");
  for (const auto& [name, value] : request.params) ACL_CHECK(IsUtf8(value) && value.find('\0') == std::string::npos, "a parameter is text");
  for (const auto& [name, value] : request.query) ACL_CHECK(IsUtf8(name) && IsUtf8(value), "a query is text");
  internal::CheckBody(head, *route);
  internal::CheckContentType(request, *route);
}

void FuzzDoorbell(std::string_view bytes) {
  BeQuiet();
  while (bytes.size() >= 4) {
    std::uint8_t prefix[4];
    std::copy_n(bytes.data(), 4, reinterpret_cast<char*>(prefix));
    const auto length = doorbell::DecodeLength(prefix);
    if (!length) return;
    ACL_CHECK(*length > 0 && *length <= doorbell::kMaxFrameBytes, "a length is bounded");
    bytes.remove_prefix(4);
    if (bytes.size() < *length) return;
    const auto message = doorbell::Decode(bytes.substr(0, *length));
    bytes.remove_prefix(*length);
    if (!message) continue;
    std::string again;
    switch (message->kind) {
      case doorbell::Message::Kind::kHello:
        again = doorbell::EncodeHello(message->session, message->queues, message->worker_name, message->by_messages);
        break;
      case doorbell::Message::Kind::kWork: again = doorbell::EncodeWork(message->queue, message->look); break;
      case doorbell::Message::Kind::kWoken: again = doorbell::EncodeWoken(message->subject, message->session); break;
      case doorbell::Message::Kind::kClosed: again = doorbell::EncodeClosed(message->subject); break;
      case doorbell::Message::Kind::kRoom:
        again = doorbell::EncodeRoom(message->session, message->limit, message->known_version, message->kinds);
        break;
      case doorbell::Message::Kind::kPassOn: {
        const auto frames = doorbell::EncodePassOn(message->ready);
        if (frames.size() != 1) continue;
        again = frames.front();
        break;
      }
      case doorbell::Message::Kind::kGranted: {
        const auto frames = doorbell::EncodeGranted(message->session, message->subjects);
        if (frames.size() != 1) continue;  // none, or more than one frame holds
        again = frames.front();
        break;
      }
      case doorbell::Message::Kind::kPing: again = doorbell::EncodePing(); break;
      case doorbell::Message::Kind::kUnknown: continue;
    }
    const auto read = doorbell::Decode(std::string_view(again).substr(4));
    ACL_CHECK(read.ok() && read->kind == message->kind && read->subject == message->subject && read->session == message->session &&
                  read->queues == message->queues && read->queue == message->queue && read->look == message->look &&
                  read->worker_name == message->worker_name && read->subjects == message->subjects && read->limit == message->limit &&
                  read->known_version == message->known_version && read->kinds == message->kinds &&
                  read->by_messages == message->by_messages &&
                  (message->kind != doorbell::Message::Kind::kPassOn || read->ready == message->ready),
              "what is read comes back the same");
  }
}

void FuzzStepMessage(std::string_view bytes) {
  BeQuiet();
  const auto message = DecodeStepMessage(bytes);
  if (!message) {
    ACL_CHECK(IsUtf8(message.message()), "a reason is text");
    return;
  }
  const auto again = DecodeStepMessage(EncodeStepMessage(*message));
  ACL_CHECK(again.ok() && again->key == message->key && again->kind == message->kind && again->traceparent == message->traceparent &&
                again->required_version == message->required_version && again->event_seq == message->event_seq &&
                again->token == message->token,
            "what is read comes back the same");
}

}  // namespace acl::fuzz
