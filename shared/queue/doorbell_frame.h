#pragma once
// One frame of the doorbell on the wire: 4-byte big-endian length, then a protobuf Frame (proto/doorbell.proto).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl::doorbell {

class Frame;

inline constexpr std::size_t kMaxFrameBytes = 64 * 1024;
// What one frame may name: queues of a hello and kinds of a room, which the receiver keeps for as long as the connection lives, and rows
// made ready. A frame with more is invalid, and its connection is closed.
inline constexpr int kMostNames = 256, kMostReady = 4096;
inline constexpr std::size_t kMostNameBytes = 256, kMostNamesBytes = 16 * 1024;

std::string EncodeHello(const WorkerSessionId& session, const std::vector<std::string>& queues, const std::string& worker_name,
                        bool by_messages = false);
// `look`: at the ready table, whatever messages say.
std::string EncodeWork(const std::string& queue, bool look = false);
// Rows that were made ready, each as EncodeStepMessage says it; in as many frames as they need.
std::vector<std::string> EncodeReady(const std::vector<std::string>& messages);
// The same, for a worker to tell the other coordinators; of none: that they should look.
std::vector<std::string> EncodePassOn(const std::vector<std::string>& messages);
// `holder`: for a coordinator to pass it on; nil: for the holder itself.
std::string EncodeWoken(const SubjectId& subject, const WorkerSessionId& holder = {});
std::string EncodeClosed(const SubjectId& subject);
std::string EncodeRoom(const WorkerSessionId& session, std::uint64_t limit, int known_version, const std::vector<std::string>& kinds);
// Frames of at most kMostGranted subjects each: one may not hold them all.
inline constexpr std::size_t kMostGranted = 1024;
std::vector<std::string> EncodeGranted(const WorkerSessionId& session, const std::vector<SubjectId>& subjects);
std::string EncodePing();

// What a frame says, in our own words.
struct Message {
  enum class Kind { kHello, kWork, kWoken, kClosed, kPing, kRoom, kGranted, kPassOn, kUnknown } kind = Kind::kUnknown;
  WorkerSessionId session;          // hello, room, granted; woken: its holder
  std::vector<std::string> queues;  // hello
  std::string worker_name;          // hello
  bool by_messages = false;         // hello
  std::string queue;                // work
  bool look = false;                // work
  std::vector<std::string> ready;   // work, pass on
  SubjectId subject;                // woken, closed
  std::vector<SubjectId> subjects;  // granted
  std::uint64_t limit = 0;          // room
  int known_version = 0;            // room
  std::vector<std::string> kinds;   // room
};
// The body of one frame, without the length. A newer or unknown frame is kUnknown; kInvalid if it is not protobuf at all, or names more
// than a frame may.
Result<Message> Decode(std::string_view body);

// The length in the first four bytes; kInvalid if it is zero or over the maximum: close the connection.
Result<std::size_t> DecodeLength(const std::uint8_t (&prefix)[4]);

}  // namespace acl::doorbell
