#include "shared/postgres/packed_payload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace acl::pg {
namespace {

constexpr std::size_t kLongest = 1'800, kHexRoot = 64;
static_assert(kFirstPhraseByte + kPhrases.size() <= 0x1f, "a byte is kept for a second list of phrases");

struct Candidate {
  std::string_view text;
  char byte;
};

constexpr std::size_t kPhraseHead = 8;  // bytes by which a phrase is looked for
static_assert(std::all_of(kPhrases.begin(), kPhrases.end(), [](std::string_view phrase) { return phrase.size() >= kPhraseHead; }));

// Phrases by their first bytes, the longest first; and what a byte of a payload may be.
class PhraseTable {
 public:
  PhraseTable() {
    for (std::size_t i = 0; i < kPhrases.size(); ++i) {
      slots_[Slot(kPhrases[i].data())].push_back({kPhrases[i], char(kFirstPhraseByte + int(i))});
      begins_[static_cast<unsigned char>(kPhrases[i].front())] = true;
    }
    for (auto& slot : slots_)
      std::sort(slot.begin(), slot.end(), [](const Candidate& a, const Candidate& b) { return a.text.size() > b.text.size(); });
  }
  bool MayBegin(char c) const { return begins_[static_cast<unsigned char>(c)]; }
  const Candidate* Find(std::string_view text) const {
    if (text.size() < kPhraseHead) return nullptr;
    for (const Candidate& candidate : slots_[Slot(text.data())]) {
      if (text.starts_with(candidate.text)) return &candidate;
    }
    return nullptr;
  }

 private:
  static std::size_t Slot(const char* head) {
    std::uint64_t bytes;
    std::memcpy(&bytes, head, sizeof bytes);
    return bytes * 0x9E3779B97F4A7C15ULL >> 56;
  }

  std::array<std::vector<Candidate>, 256> slots_;
  std::array<bool, 256> begins_{};
};

const PhraseTable& Phrases() {
  static const PhraseTable table;
  return table;
}

int HexDigit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// The text of its hash in small letters.
bool ReadRoot(std::string_view text, Hash256& root) {
  if (text.size() < kHexRoot) return false;
  for (std::size_t i = 0; i < root.size(); ++i) {
    const int high = HexDigit(text[2 * i]), low = HexDigit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    root[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

class Packer {
 public:
  Packer(std::string_view payload, const BesidePayload& beside)
      : rest_(payload),
        at_(std::to_string(MicrosOf(beside.at))),
        longer_{beside.completed, kCompletedByte},
        shorter_{beside.begun, kBegunByte} {
    if (longer_.text.size() < shorter_.text.size()) std::swap(longer_, shorter_);
    packed_.text.reserve(payload.size() / 2);
  }

  std::optional<PackedPayload> Pack() && {
    const PhraseTable& phrases = Phrases();
    std::size_t plain = 0;  // of the rest, what stands for itself
    while (plain < rest_.size()) {
      const char c = rest_[plain];
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      const Candidate* phrase = phrases.MayBegin(c) ? phrases.Find(rest_.substr(plain)) : nullptr;
      if (phrase == nullptr) {
        ++plain;
        continue;
      }
      packed_.text += rest_.substr(0, plain);
      rest_.remove_prefix(plain);
      plain = 0;
      Put(phrase->text, phrase->byte);
      AfterPhrase();
    }
    packed_.text += rest_;
    if (!rooted_) return std::nullopt;
    return std::move(packed_);
  }

 private:
  void Put(std::string_view text, char byte) {
    packed_.text += byte;
    rest_.remove_prefix(text.size());
  }

  // What the row's columns say comes behind a phrase.
  void AfterPhrase() {
    for (const Candidate& step : {longer_, shorter_}) {
      if (!step.text.empty() && rest_.starts_with(step.text)) return Put(step.text, step.byte);
    }
    if (rest_.starts_with(at_)) return Put(at_, kAtByte);
    if (Hash256 root; !rooted_ && ReadRoot(rest_, root)) {
      packed_.root = root;
      rooted_ = true;
      Put(rest_.substr(0, kHexRoot), kRootByte);
    }
  }

  std::string_view rest_;
  const std::string at_;
  Candidate longer_, shorter_;
  PackedPayload packed_;
  bool rooted_ = false;
};

// What the payload is put together of, in order, until one is refused.
template <class Take>
bool ForEachPiece(const PackedPayload& packed, const BesidePayload& beside, const Take& take) {
  std::string_view rest = packed.text;
  while (!rest.empty()) {
    const auto plain =
        std::size_t(std::find_if(rest.begin(), rest.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }) - rest.begin());
    if (plain > 0) {
      if (!take(rest.substr(0, plain))) return false;
      rest.remove_prefix(plain);
      continue;
    }
    const char c = rest.front();
    rest.remove_prefix(1);
    const auto n = std::size_t(c - kFirstPhraseByte);
    const bool taken = c == kRootByte        ? take(ToHex(packed.root))
                       : c == kAtByte        ? take(std::to_string(MicrosOf(beside.at)))
                       : c == kCompletedByte ? take(beside.completed)
                       : c == kBegunByte     ? take(beside.begun)
                       : n < kPhrases.size() ? take(kPhrases[n])
                                             : false;
    if (!taken) return false;
  }
  return true;
}

bool Says(const PackedPayload& packed, const BesidePayload& beside, std::string_view payload) {
  const bool all = ForEachPiece(packed, beside, [&](std::string_view piece) {
    if (!payload.starts_with(piece)) return false;
    payload.remove_prefix(piece.size());
    return true;
  });
  return all && payload.empty();
}

}  // namespace

std::optional<PackedPayload> Pack(std::string_view payload, const BesidePayload& beside) {
  if (payload.size() > kLongest) return std::nullopt;
  auto packed = Packer(payload, beside).Pack();
  // What is stored is what is unpacked: seen each time, for what is written now is read when nobody can ask again.
  if (!packed || packed->text.size() + packed->root.size() >= payload.size() || !Says(*packed, beside, payload)) return std::nullopt;
  return packed;
}

std::string Unpack(const PackedPayload& packed, const BesidePayload& beside) {
  std::string payload;
  payload.reserve(3 * packed.text.size() + 2 * packed.root.size());
  ForEachPiece(packed, beside, [&](std::string_view piece) {
    payload += piece;
    return true;
  });
  return payload;
}

}  // namespace acl::pg
