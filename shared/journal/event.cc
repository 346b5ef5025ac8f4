#include "shared/journal/event.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/journal/document.h"

namespace acl {

[[gnu::weak]] int EventSchemaVersion() { return 1; }

namespace {

constexpr std::string_view kHeaderMark = "ACLE\x01";  // four letters and the header's own version
constexpr std::string_view kChainStartMark = "acl-journal-v1";

template <class Int>
void AppendBigEndian(Int value, std::string& out) {
  for (int shift = int(sizeof value) * 8 - 8; shift >= 0; shift -= 8) out += char(static_cast<std::uint64_t>(value) >> shift & 0xff);
}

// One length byte, then the text, then zeros up to the width.
void AppendPadded(const std::string& text, std::size_t width, std::string& out) {
  ACL_CHECK(text.size() <= width, "a text is longer than its field of the chain header");
  out += char(text.size());
  out += text;
  out.append(width - text.size(), '\0');
}

std::string Name(const Event& event) { return fmt::format("event {} of {}", event.seq, event.subject.ToString()); }

Error Corrupt(const Event& event, std::string_view what, const std::string& expected, const std::string& found) {
  return {Code::kCorrupt, fmt::format("{}: {} is {}, expected {}", Name(event), what, found, expected)};
}

Status CheckHash(const Event& event, std::string_view what, const Hash256& expected, const Hash256& found) {
  if (expected == found) return {};
  return Corrupt(event, what, ToHex(expected), ToHex(found));
}

}  // namespace

std::string ChainHeader(const Event& event) {
  std::string header(kHeaderMark);
  header.append(reinterpret_cast<const char*>(event.subject.uuid.bytes.data()), event.subject.uuid.bytes.size());
  AppendBigEndian(std::int64_t(event.seq), header);
  AppendPadded(event.type, kEventTypeBytes, header);
  AppendBigEndian(std::int32_t(event.schema_version), header);
  AppendPadded(event.producer_version, kProducerBytes, header);
  AppendBigEndian(std::int64_t(event.token.value), header);
  AppendBigEndian(std::int64_t(MicrosOf(event.timestamp)), header);
  header.append(AsBytes(event.checksum));
  return header;
}

Hash256 ChainNext(const Hash256& previous, const Event& event) {
  return Sha256({AsBytes(previous), ChainHeader(event), AsBytes(event.content_hash)});
}

Hash256 ChainStart(const SubjectId& subject) {
  const auto& bytes = subject.uuid.bytes;
  return Sha256({kChainStartMark, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
}

void Seal(Event& event, const Hash256& previous_chain) {
  ACL_CHECK(event.payload.has_value(), "an event without a payload cannot be sealed");
  auto payload = ParsePayload(event);
  ACL_CHECK(payload.ok(), "the payload of an event is not JSON");
  Seal(event, previous_chain, *payload);
}

void HashPayload(Event& event, const Json& payload) {
  ACL_CHECK(event.payload.has_value(), "an event without a payload cannot be sealed");
  event.checksum = CanonicalHash(payload);
  event.content_hash = Sha256(*event.payload);
}

void Seal(Event& event, const Hash256& previous_chain, const Json& payload) {
  HashPayload(event, payload);
  event.chain = ChainNext(previous_chain, event);
}

Result<Json> ParsePayload(const Event& event) {
  if (!event.payload) return {Code::kCorrupt, fmt::format("{}: its content was removed", Name(event))};
  auto payload = ParseJson(*event.payload, kStoredJson);
  if (!payload) return {Code::kCorrupt, fmt::format("{}: the payload is {}", Name(event), payload.message())};
  return payload;
}

Status VerifySeal(const Event& event, const Hash256& previous_chain) {
  if (event.schema_version < 1 || event.schema_version > EventSchemaVersion()) {
    return Corrupt(event, "the schema version", fmt::format("1 to {} (a newer program wrote it; upgrade this one)", EventSchemaVersion()),
                   std::to_string(event.schema_version));
  }
  if (event.type.size() > kEventTypeBytes || event.producer_version.size() > kProducerBytes) {
    return Corrupt(event, "the type or producer version", fmt::format("at most {} and {} bytes", kEventTypeBytes, kProducerBytes),
                   "longer");
  }
  if (event.payload) {
    if (auto same = CheckHash(event, "the hash of the stored payload", event.content_hash, Sha256(*event.payload)); !same)
      return same.error();
  }
  return CheckHash(event, "the chain", ChainNext(previous_chain, event), event.chain);
}

Result<std::optional<Json>> ParseAndCheck(const Event& event) {
  if (!event.payload) return std::optional<Json>();
  auto payload = ParsePayload(event);
  if (!payload) return payload.error();
  if (auto same = CheckHash(event, "the checksum", CanonicalHash(*payload), event.checksum); !same) return same.error();
  return std::optional<Json>(std::move(*payload));
}

Result<std::optional<Json>> VerifyAndParse(const Event& event, const Hash256& previous_chain) {
  if (Status sealed = VerifySeal(event, previous_chain); !sealed) return sealed.error();
  return ParseAndCheck(event);
}

Status Verify(const Event& event, const Hash256& previous_chain) {
  auto verified = VerifyAndParse(event, previous_chain);
  return verified ? Status() : Status(verified.error());
}

}  // namespace acl
