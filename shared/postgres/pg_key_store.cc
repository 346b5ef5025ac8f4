#include "shared/postgres/pg_key_store.h"

#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/journal/document.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

constexpr std::size_t kIdDigits = 12, kSecretDigits = 64, kMaxName = 100;

const Statement kKeys("keys.list", Statement::Kind::kRead,
                      "SELECT key_id, name, secret_hash, project_id, array_to_json(roles)::text FROM api_keys WHERE revoked_at IS NULL");
const Statement kInsert("keys.create", Statement::Kind::kWrite, R"(
INSERT INTO api_keys (key_id, project_id, name, secret_hash, roles) VALUES ($id::text, $project::uuid, $name::text, $hash::bytea, $roles::text[]))");
const Statement kRevoke("keys.revoke", Statement::Kind::kWrite,
                        "UPDATE api_keys SET revoked_at = clock_timestamp() WHERE key_id = $id::text AND revoked_at IS NULL RETURNING 1");

const Statement kAllKeys(
    "keys.all", Statement::Kind::kRead,
    "SELECT key_id, name, created_at, revoked_at, array_to_json(roles)::text FROM api_keys ORDER BY created_at, key_id");

std::string RandomHex(std::size_t digits) {
  SystemRandom random;
  std::string bytes;
  while (bytes.size() * 2 < digits) {
    const std::uint64_t word = random.Next();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return ToHex(bytes).substr(0, digits);
}

// Of a JSON array of texts.
std::vector<std::string> RolesOf(std::string_view json) {
  std::vector<std::string> roles;
  const auto list = ParseJson(json, kStoredJson);
  for (const Json& role : list && list->is_array() ? *list : Json::array())
    if (role.is_string()) roles.push_back(role.get<std::string>());
  return roles;
}

bool IsKeyWord(const std::string& text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  return !text.empty() && text.size() <= kMaxName && printable;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<pg::Rows> RunAsOwner(const std::string& conninfo, const Statement& statement, const Params& params) {
  auto connection = pg::Connection::Open({.conninfo = conninfo, .application_name = "acl-keys", .role = "acl_owner"});
  if (!connection) return connection.error();
  return (*connection)->Run(statement, params);
}

}  // namespace

Result<std::vector<ApiKeyRow>> PgKeyStore::Keys() {
  auto rows = pg::RunOne(pool_, kKeys, {});
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<ApiKeyRow>>("keys.list", [&] {
    std::vector<ApiKeyRow> keys;
    for (int i = 0; i < rows->size(); ++i)
      keys.push_back({rows->Text(i, 0), rows->Text(i, 1), rows->Hash(i, 2), ProjectId{rows->Id(i, 3)}, RolesOf(rows->View(i, 4))});
    return keys;
  });
}

std::optional<ApiKeyText> ParseApiKey(std::string_view text) {
  constexpr std::string_view kPrefix = "acl_";
  if (text.size() != kPrefix.size() + kIdDigits + 1 + kSecretDigits || !text.starts_with(kPrefix)) return std::nullopt;
  const auto id = text.substr(kPrefix.size(), kIdDigits), secret = text.substr(text.size() - kSecretDigits);
  if (text[kPrefix.size() + kIdDigits] != '_' || !IsHex(id) || !IsHex(secret)) return std::nullopt;
  return ApiKeyText{std::string(id), std::string(secret)};
}

Result<std::string> CreateApiKey(const std::string& conninfo, const std::string& name, const std::vector<std::string>& roles) {
  if (!IsKeyWord(name)) return Error{Code::kInvalid, "a key's name is 1 to 100 printable bytes: who or what uses it"};
  if (name.starts_with("role:") || name.starts_with("link:"))
    return Error{Code::kInvalid, "a key's name cannot begin with 'role:' or 'link:': approvals mean a role, or a link, by that"};
  pg::Array listed(pg::Oid::kText);
  for (const std::string& role : roles) {
    if (!IsKeyWord(role)) return Error{Code::kInvalid, "a role is 1 to 100 printable bytes, as approvals name it"};
    listed.Text(role);
  }
  const std::string id = RandomHex(kIdDigits), secret = RandomHex(kSecretDigits);
  Params params;
  params.Text("id", id).Id("project", kDefaultProject).Text("name", name).Bytes("hash", Sha256(secret)).List("roles", listed);
  auto rows = RunAsOwner(conninfo, kInsert, params);
  if (!rows) return rows.error();
  return "acl_" + id + "_" + secret;
}

Result<std::vector<ApiKeyInfo>> ListApiKeys(const std::string& conninfo) {
  auto rows = RunAsOwner(conninfo, kAllKeys, {});
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<ApiKeyInfo>>("keys.all", [&] {
    std::vector<ApiKeyInfo> keys;
    for (int i = 0; i < rows->size(); ++i)
      keys.push_back({rows->Text(i, 0), rows->Text(i, 1), RolesOf(rows->View(i, 4)), rows->Time(i, 2), rows->MaybeTime(i, 3)});
    return keys;
  });
}

Status RevokeApiKey(const std::string& conninfo, const std::string& key_id) {
  Params params;
  auto rows = RunAsOwner(conninfo, kRevoke, params.Text("id", key_id));
  if (!rows) return rows.error();
  if (rows->size() == 0) return Error{Code::kNotFound, "there is no key in force with id '" + key_id + "'"};
  return {};
}

}  // namespace acl
