#include "shared/aegis/rebuild.h"

#include "shared/aegis/compile.h"
#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"

namespace acl::aegis {

namespace {

std::string ContentHash(const std::string& content) { return "sha256:" + ToHex(Sha256(content)); }

// A value is replaced by the hash of its content.
void MoveOut(Json* value, std::map<std::string, std::string>* contents) {
  std::string content = CanonicalJson(*value);
  std::string hash = ContentHash(content);
  *value = hash;
  contents->emplace(std::move(hash), std::move(content));
}

// And back. A value that is no hash stays: an error of reading the record will say so.
Status MoveIn(Json* value, const std::function<Result<std::string>(const std::string&)>& read) {
  if (!value->is_string()) return {};
  const std::string hash = value->get<std::string>();
  auto content = read(hash);
  if (!content) return content.error();
  if (ContentHash(*content) != hash)
    return {Code::kCorrupt, "the content of " + hash.substr(0, 80) + " has another hash; restore it from a backup of the ledger"};
  auto parsed = ParseJson(*content);
  if (!parsed) return parsed.error();
  *value = std::move(*parsed);
  return {};
}

}  // namespace

SplitRecord SplitByContent(const Json& recorded) {
  SplitRecord split;
  split.record = recorded;
  MoveOut(&split.record.at("kernel"), &split.contents);
  for (Json& candidate : split.record.at("candidates")) MoveOut(&candidate.at("artifact"), &split.contents);
  return split;
}

Result<Json> JoinRecord(const Json& record, const std::function<Result<std::string>(const std::string&)>& read) {
  Json joined = record;
  if (!joined.is_object() || !joined.contains("kernel") || !joined.contains("candidates") || !joined["candidates"].is_array())
    return Error{Code::kInvalid, "a split record has no 'kernel' or 'candidates'; write it with SplitByContent"};
  if (Status in = MoveIn(&joined["kernel"], read); !in.ok()) return in.error();
  for (Json& candidate : joined["candidates"]) {
    if (!candidate.is_object() || !candidate.contains("artifact")) continue;
    if (Status in = MoveIn(&candidate["artifact"], read); !in.ok()) return in.error();
  }
  return joined;
}

Rebuilt TextsOf(const RenderedPrompt& prompt) {
  return {prompt.bundle().canonical(), prompt.bundle().hash(), prompt.messages(), prompt.prefix_hash(), prompt.prompt_hash()};
}

Result<Rebuilt> RebuildBundle(const Json& recorded) {
  auto input = CompileInputFromJson(recorded);
  if (!input) return input.error();
  auto bundle = Compile(std::move(*input));
  if (!bundle) return bundle.error();
  auto prompt = Render(std::move(*bundle));
  if (!prompt) return prompt.error();
  return TextsOf(*prompt);
}

}  // namespace acl::aegis
