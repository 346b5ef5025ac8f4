#include "shared/workflow/payload_writer.h"

#include <charconv>
#include <utility>

#include "shared/base/sha256.h"
#include "shared/journal/json_patch.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

std::string PointerTo(std::string_view entry) {
  std::string pointer;
  AppendPointer(entry, "", pointer);
  return pointer;
}

std::string PointerTo(std::string_view entry, std::string_view member) {
  std::string pointer = PointerTo(entry);
  AppendPointerToken(member, pointer);
  return pointer;
}

}  // namespace

PayloadWriter& PayloadWriter::operator<<(std::int64_t number) {
  char digits[24];
  return *this << std::string_view(digits, std::size_t(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
}

PayloadWriter& PayloadWriter::Value(const Json& value) {
  text_.Value(value);
  return *this;
}

Hash256 PayloadWriter::Put(const EntryWords& entry, std::string stored) {
  *this << Next() << entry.put << stored << "}";
  const Hash256 canonical = Sha256(stored);
  Keep(entry, std::move(stored), canonical);
  return canonical;
}

Hash256 PayloadWriter::Put(const EntryWords& entry, const Json& value) {
  *this << Next() << entry.put;
  const StoredText::Texts texts = text_.Value(value);
  const Hash256 canonical = Sha256(texts.canonical);
  Keep(entry, std::string(texts.stored), canonical);
  *this << "}";
  return canonical;
}

void PayloadWriter::Copy(const EntryWords& from, const std::string& member, const Json& value) {
  const std::string key = VarKey(member);
  *this << Next() << R"({"from":)";
  text_.String(PointerTo(from.key, member)).Raw(R"(,"op":"copy","path":)").String(PointerTo(key)).Raw("}");
  changes_.push_back({trie::PathOf(key), trie::MakeLeaf(key, value)});
}

void PayloadWriter::Remove(std::string_view entry) {
  *this << Next() << R"({"op":"remove","path":)";
  text_.String(PointerTo(entry)).Raw("}");
  changes_.push_back({trie::PathOf(entry), nullptr});
}

void PayloadWriter::Put(const DeltaOp& op) {
  if (op.kind != DeltaOp::Kind::kAdd) return Remove(op.entry);
  Put(EntryWordsOf(op.entry), DumpJson(op.value));
}

void PayloadWriter::PutMember(std::string_view entry, std::string_view member, const Json& value) {
  *this << Next() << R"({"op":"add","path":)";
  text_.String(PointerTo(entry, member)).Raw(R"(,"value":)");
  text_.Value(value);
  *this << "}";
}

void PayloadWriter::RemoveMember(std::string_view entry, std::string_view member) {
  *this << Next() << R"({"op":"remove","path":)";
  text_.String(PointerTo(entry, member)).Raw("}");
}

void PayloadWriter::Become(const EntryWords& entry, std::string stored) {
  const Hash256 canonical = Sha256(stored);
  Keep(entry, std::move(stored), canonical);
}

void PayloadWriter::Become(std::string_view entry, Json value) {
  auto leaf = trie::MakeLeaf(std::string(entry), std::move(value));
  changes_.push_back({leaf->path, std::move(leaf)});
}

std::vector<trie::Change> PayloadWriter::TakeChanges() { return std::exchange(changes_, {}); }

Event PayloadWriter::End(std::string_view type) && {
  Event event;
  event.type = type;
  const StoredText::Hashes hashes = text_.Measure();
  event.checksum = hashes.canonical;
  event.content_hash = hashes.stored;
  event.payload = std::move(text_).Take();
  return event;
}

std::string_view PayloadWriter::Next() { return std::exchange(first_, false) ? "[" : ","; }

void PayloadWriter::Keep(const EntryWords& entry, std::string stored, const Hash256& canonical) {
  const std::size_t bytes = stored.size();
  auto leaf = trie::MakeLeafOfText(entry.path, entry.key, std::move(stored));
  leaf->Know(bytes, canonical);
  changes_.push_back({entry.path, std::move(leaf)});
}

}  // namespace acl::workflow
