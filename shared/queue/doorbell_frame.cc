#include "shared/queue/doorbell_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "proto/doorbell.pb.h"

namespace acl::doorbell {

namespace {

constexpr std::uint32_t kSchemaVersion = 1;

std::string Bytes(const Uuid& uuid) { return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()}; }

std::optional<Uuid> UuidOf(const std::string& bytes) {
  if (bytes.size() != 16) return std::nullopt;
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data(), 16);
  return uuid;
}

std::string OnTheWire(Frame frame) {
  frame.set_schema_version(kSchemaVersion);
  std::string body = frame.SerializeAsString();
  const auto size = std::uint32_t(body.size());
  std::string wire{char(size >> 24), char(size >> 16 & 255), char(size >> 8 & 255), char(size & 255)};
  return wire + body;
}

// Whether the receiver may keep these names (doorbell_frame.h).
template <typename Names>
bool WithinBounds(const Names& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    if (name.size() > kMostNameBytes) return false;
    bytes += name.size();
  }
  return names.size() <= kMostNames && bytes <= kMostNamesBytes;
}

bool WithinBounds(const Frame& frame) {
  switch (frame.body_case()) {
    case Frame::kHello: return WithinBounds(frame.hello().queues()) && frame.hello().worker_name().size() <= kMostNameBytes;
    case Frame::kRoom: return WithinBounds(frame.room().kinds());
    case Frame::kWork: return frame.work().queue().size() <= kMostNameBytes && frame.work().ready_size() <= kMostReady;
    case Frame::kPassOn: return frame.pass_on().ready_size() <= kMostReady;
    case Frame::kGranted: return frame.granted().subjects_size() <= int(kMostGranted);
    default: return true;
  }
}

// In as many frames as they need. `rows`: where a frame has them.
template <typename Rows>
std::vector<std::string> InFrames(const std::vector<std::string>& messages, const Rows& rows) {
  constexpr std::size_t kMostBytes = kMaxFrameBytes / 2;  // beside which the frame's own few are nothing
  std::vector<std::string> frames;
  for (auto next = messages.begin(); next != messages.end();) {
    Frame frame;
    for (std::size_t bytes = 0; next != messages.end() && (bytes == 0 || bytes + next->size() <= kMostBytes); ++next) {
      bytes += next->size() + sizeof(std::uint32_t);
      *rows(frame)->Add() = *next;
    }
    frames.push_back(OnTheWire(std::move(frame)));
  }
  return frames;
}

}  // namespace

std::string EncodeHello(const WorkerSessionId& session, const std::vector<std::string>& queues, const std::string& worker_name,
                        bool by_messages) {
  Frame frame;
  Hello* hello = frame.mutable_hello();
  if (!session.is_nil()) hello->set_session(Bytes(session.uuid));
  for (const std::string& queue : queues) hello->add_queues(queue);
  hello->set_worker_name(worker_name);
  hello->set_by_messages(by_messages);
  return OnTheWire(std::move(frame));
}

std::string EncodeWork(const std::string& queue, bool look) {
  Frame frame;
  frame.mutable_work()->set_queue(queue);
  frame.mutable_work()->set_look(look);
  return OnTheWire(std::move(frame));
}

std::vector<std::string> EncodeReady(const std::vector<std::string>& messages) {
  return InFrames(messages, [](Frame& frame) { return frame.mutable_work()->mutable_ready(); });
}

std::vector<std::string> EncodePassOn(const std::vector<std::string>& messages) {
  const auto rows = [](Frame& frame) { return frame.mutable_pass_on()->mutable_ready(); };
  if (!messages.empty()) return InFrames(messages, rows);
  Frame frame;
  rows(frame);
  return {OnTheWire(std::move(frame))};
}

std::string EncodeWoken(const SubjectId& subject, const WorkerSessionId& holder) {
  Frame frame;
  frame.mutable_woken()->set_subject(Bytes(subject.uuid));
  if (!holder.is_nil()) frame.mutable_woken()->set_session(Bytes(holder.uuid));
  return OnTheWire(std::move(frame));
}

std::string EncodeClosed(const SubjectId& subject) {
  Frame frame;
  frame.mutable_closed()->set_subject(Bytes(subject.uuid));
  return OnTheWire(std::move(frame));
}

std::string EncodeRoom(const WorkerSessionId& session, std::uint64_t limit, int known_version, const std::vector<std::string>& kinds) {
  Frame frame;
  Room* room = frame.mutable_room();
  room->set_session(Bytes(session.uuid));
  room->set_limit(limit);
  room->set_known_version(std::uint32_t(known_version));
  for (const std::string& kind : kinds) room->add_kinds(kind);
  return OnTheWire(std::move(frame));
}

std::vector<std::string> EncodeGranted(const WorkerSessionId& session, const std::vector<SubjectId>& subjects) {
  std::vector<std::string> frames;
  for (std::size_t from = 0; from < subjects.size(); from += kMostGranted) {
    Frame frame;
    frame.mutable_granted()->set_session(Bytes(session.uuid));
    for (std::size_t i = from; i < std::min(subjects.size(), from + kMostGranted); ++i) {
      frame.mutable_granted()->add_subjects(Bytes(subjects[i].uuid));
    }
    frames.push_back(OnTheWire(std::move(frame)));
  }
  return frames;
}

std::string EncodePing() {
  Frame frame;
  frame.mutable_ping();
  return OnTheWire(std::move(frame));
}

Result<Message> Decode(std::string_view body) {
  Frame frame;
  if (!frame.ParseFromArray(body.data(), int(body.size()))) return Error{Code::kInvalid, "not a doorbell frame"};
  if (!WithinBounds(frame)) return Error{Code::kInvalid, "a doorbell frame that names more than a frame may"};
  Message message;
  switch (frame.body_case()) {
    case Frame::kHello:
      message.kind = Message::Kind::kHello;
      if (auto session = UuidOf(frame.hello().session())) message.session = WorkerSessionId{*session};
      message.queues.assign(frame.hello().queues().begin(), frame.hello().queues().end());
      message.worker_name = frame.hello().worker_name();
      message.by_messages = frame.hello().by_messages();
      break;
    case Frame::kWork:
      message.kind = Message::Kind::kWork;
      message.queue = frame.work().queue();
      message.look = frame.work().look();
      message.ready.assign(frame.work().ready().begin(), frame.work().ready().end());
      break;
    case Frame::kWoken:
    case Frame::kClosed: {
      const bool woken = frame.body_case() == Frame::kWoken;
      auto subject = UuidOf(woken ? frame.woken().subject() : frame.closed().subject());
      if (!subject) break;
      message.kind = woken ? Message::Kind::kWoken : Message::Kind::kClosed;
      message.subject = SubjectId{*subject};
      if (woken) {
        if (auto holder = UuidOf(frame.woken().session())) message.session = WorkerSessionId{*holder};
      }
      break;
    }
    case Frame::kRoom: {
      auto session = UuidOf(frame.room().session());
      if (!session) break;
      message.kind = Message::Kind::kRoom;
      message.session = WorkerSessionId{*session};
      message.limit = frame.room().limit();
      message.known_version = int(frame.room().known_version());
      message.kinds.assign(frame.room().kinds().begin(), frame.room().kinds().end());
      break;
    }
    case Frame::kGranted: {
      auto session = UuidOf(frame.granted().session());
      if (!session) break;
      message.kind = Message::Kind::kGranted;
      message.session = WorkerSessionId{*session};
      for (const std::string& bytes : frame.granted().subjects()) {
        if (auto subject = UuidOf(bytes)) message.subjects.push_back(SubjectId{*subject});
      }
      break;
    }
    case Frame::kPassOn:
      message.kind = Message::Kind::kPassOn;
      message.ready.assign(frame.pass_on().ready().begin(), frame.pass_on().ready().end());
      break;
    case Frame::kPing: message.kind = Message::Kind::kPing; break;
    case Frame::BODY_NOT_SET: break;
  }
  return message;
}

Result<std::size_t> DecodeLength(const std::uint8_t (&prefix)[4]) {
  const std::size_t size = std::size_t(prefix[0]) << 24 | std::size_t(prefix[1]) << 16 | std::size_t(prefix[2]) << 8 | prefix[3];
  if (size == 0 || size > kMaxFrameBytes) return Error{Code::kInvalid, fmt::format("a doorbell frame of {} bytes", size)};
  return size;
}

}  // namespace acl::doorbell
