// What is read back from the journal.
#include "shared/base/check.h"
#include "shared/base/sha256.h"
#include "shared/journal/segment.h"
#include "shared/journal/snapshot.h"
#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {

namespace {

// Values from the front of the bytes, as long as there are any.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string Text() { return std::string(Take(std::size_t(Number(1)))); }
  std::int64_t Number(int size) {
    std::uint64_t value = 0;
    for (const char c : Take(std::size_t(size))) value = value << 8 | static_cast<unsigned char>(c);
    return std::int64_t(value);
  }
  std::string_view Take(std::size_t size) {
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view rest_;
};

const SubjectId kSubject = *SubjectId::Parse("0190f5fe-7c00-7a00-8000-0123456789ab");

Result<std::string> NoChunk(const Hash256&) { return Error{Code::kNotFound, "no such chunk"}; }

}  // namespace

void FuzzEvent(std::string_view bytes) {
  Reader reader(bytes);
  const auto how = reader.Number(1);
  Event event;
  event.subject = kSubject;
  event.seq = reader.Number(8);
  event.schema_version = int(reader.Number(1));
  event.token = Token{reader.Number(8)};
  event.timestamp = WallTimeFromMicros(reader.Number(7));
  event.type = reader.Text();
  event.producer_version = reader.Text();
  if (how & 1) event.payload = std::string(reader.Rest());
  // Hashes that hold, as far as there can be any, so that what is behind them is reached.
  if (event.payload) event.content_hash = Sha256(*event.payload);
  if (const auto payload = event.payload ? ParseJson(*event.payload, kStoredJson) : Result<Json>(Error{Code::kNotFound, ""}); payload) {
    HashPayload(event, *payload);
  }
  const bool fits = event.type.size() <= kEventTypeBytes && event.producer_version.size() <= kProducerBytes;
  if ((how & 2) != 0 && fits) event.chain = ChainNext(ChainStart(kSubject), event);
  const auto verified = VerifyAndParse(event, ChainStart(kSubject));
  if (verified && *verified) ACL_CHECK(CheckStorable(**verified, kStoredJson).ok(), "a payload that verifies can be stored");
  if (!fits) ACL_CHECK(!verified.ok(), "a type that does not fit its field does not verify");
}

void FuzzRestore(std::string_view bytes) {
  std::vector<Event> journal;
  Document state;
  for (Hash256 chain = ChainStart(kSubject); !bytes.empty();) {
    const auto line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    Event event;
    event.subject = kSubject;
    event.seq = std::int64_t(journal.size()) + 1;
    event.type = "step.completed";
    event.token = Token{1};
    auto payload = ParseJson(line, kStoredJson);
    if (!payload) return;
    // A delta that applies, with an empty root: it gets the right one, so that replay goes on.
    if (payload->is_object() && payload->contains(kDeltaKey) && payload->value(std::string(kRootKey), Json()) == "") {
      if (state.Apply((*payload)[std::string(kDeltaKey)])) (*payload)[std::string(kRootKey)] = ToHex(state.Root());
    }
    // What begins a journal; an empty chain gets the right one, and so do place and root.
    if (payload->is_object() && payload->contains("journal") && payload->contains("chain")) {
      event.type = kJournalRolled;
      if ((*payload)["chain"] == "") {
        (*payload)["chain"] = ToHex(chain);
        (*payload)["snapshot"] = event.seq - 1;
        (*payload)[std::string(kRootKey)] = ToHex(state.Root());
      }
    }
    event.payload = DumpJson(*payload);
    Seal(event, chain, *payload);
    chain = event.chain;
    journal.push_back(std::move(event));
  }
  const auto restored = Restore(kSubject, {}, journal, NoChunk);
  if (!restored) {
    ACL_CHECK(restored.code() == Code::kCorrupt, "a journal that cannot be restored is corrupt");
    return;
  }
  ACL_CHECK(restored->head_seq == std::int64_t(journal.size()), "all of it is restored");
  const auto encoded = EncodeSnapshot(restored->state, restored->head_seq, restored->chain);
  const auto decoded = DecodeSnapshot(encoded.snapshot, [&](const Hash256& hash) -> Result<std::string> {
    for (const auto& [key, content] : encoded.contents)
      if (key == hash) return content;
    return NoChunk(hash);
  });
  ACL_CHECK(decoded.ok() && decoded->Root() == restored->state.Root(), "a snapshot of it says the same");
}

void FuzzSnapshot(std::string_view bytes) {
  const std::string text(bytes.substr(std::min<std::size_t>(1, bytes.size())));
  const bool in_chunk = !bytes.empty() && (bytes[0] & 1) != 0;
  Snapshot snapshot;
  if (in_chunk) {
    snapshot.chunks = {Sha256(text)};
  } else {
    snapshot.inline_state = text;
  }
  if (const auto object = ParseJson(text, kStoredJson); object && object->is_object()) {
    if (const auto document = Document::FromJson(*object)) snapshot.state_root = document->Root();
  }
  const auto decoded = DecodeSnapshot(snapshot, [&](const Hash256&) -> Result<std::string> { return text; });
  if (!decoded) {
    ACL_CHECK(decoded.code() == Code::kCorrupt, "a snapshot that cannot be decoded is corrupt");
    return;
  }
  ACL_CHECK(decoded->Root() == snapshot.state_root, "what is decoded is what the snapshot names");
  const auto again = EncodeSnapshot(*decoded, 1, {});
  if (!in_chunk && again.snapshot.inline_state) ACL_CHECK(*again.snapshot.inline_state == text, "and is encoded the same");
}

}  // namespace acl::fuzz
