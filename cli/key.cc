// airun key create, list, revoke: API keys, directly in the database, as a member of its owner.
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/format.h"
#include "shared/postgres/pg_key_store.h"

namespace acl::cli {

namespace {

void Create(Session* session, const std::string& name, const std::vector<std::string>& roles) {
  auto key = CreateApiKey(session->DatabaseUrl(), name, roles);
  if (!key) return session->Fail(key.error());
  if (session->json()) return session->PrintJson({{"key", *key}, {"key_id", ParseApiKey(*key)->key_id}, {"name", name}, {"roles", roles}});
  session->Print(*key);
  session->Note("This is the only time the key is shown. Clients send: Authorization: Bearer KEY");
}

void List(Session* session) {
  auto keys = ListApiKeys(session->DatabaseUrl());
  if (!keys) return session->Fail(keys.error());
  if (session->json()) {
    Json all = Json::array();
    for (const ApiKeyInfo& key : *keys) {
      all.push_back({{"key_id", key.key_id}, {"name", key.name}, {"roles", key.roles}, {"created_at", FormatWallTime(key.created_at)}});
      if (key.revoked_at) all.back()["revoked_at"] = FormatWallTime(*key.revoked_at);
    }
    return session->PrintJson(all);
  }
  Table table({"ID", "NAME", "ROLES", "CREATED", "REVOKED"});
  for (const ApiKeyInfo& key : *keys) {
    table.Add({key.key_id, key.name, fmt::format("{}", fmt::join(key.roles, ", ")), ShortTime(FormatWallTime(key.created_at)),
               key.revoked_at ? ShortTime(FormatWallTime(*key.revoked_at)) : ""});
  }
  if (table.empty()) return session->Note("there is no API key; make one: airun key create NAME");
  session->Write(table.Text());
}

void Revoke(Session* session, const std::string& id) {
  if (Status revoked = RevokeApiKey(session->DatabaseUrl(), id); !revoked) return session->Fail(revoked.error());
  if (session->json()) return session->PrintJson({{"key_id", id}, {"revoked", true}});
  session->Print("revoked " + id + ": coordinators refuse it within two seconds");
}

}  // namespace

void AddKeyCommands(CLI::App* app, Session* session) {
  CLI::App* key = app->add_subcommand("key", "API keys: make, list, take back (needs the database, as a member of acl_owner)");
  key->require_subcommand(1);
  auto name = std::make_shared<std::string>(), id = std::make_shared<std::string>();
  auto roles = std::make_shared<std::vector<std::string>>();
  CLI::App* create = key->add_subcommand("create", "make a key; it is printed once");
  create->add_option("name", *name, "who or what uses it")->required();
  create->add_option("--role", *roles, "a role of its user, as approvals ask for (approver_role); may be given several times");
  create->callback([=] { Create(session, *name, *roles); });
  key->add_subcommand("list", "all keys ever made, without their secrets")->callback([=] { List(session); });
  CLI::App* revoke = key->add_subcommand("revoke", "take a key back");
  revoke->add_option("id", *id, "its id: the 12 digits after acl_")->required();
  revoke->callback([=] { Revoke(session, *id); });
}

}  // namespace acl::cli
