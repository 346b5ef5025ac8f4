#include "shared/postgres/schema_objects.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "shared/base/check.h"
#include "shared/base/sha256.h"
#include "shared/postgres/connection.h"
#include "shared/postgres/migrate.h"
#include "shared/postgres/migrate_step.h"

namespace acl::pg {
namespace {

constexpr const char* kExists =
    "CASE WHEN o.name LIKE 'views/%' THEN EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v'"
    " AND c.relname = substr(o.name, 7)) ELSE EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace"
    " AND p.proname = substr(o.name, 11)) END";

struct ObjectRecord {
  int version;
  std::string checksum;
  bool exists;
};

std::string ObjectChecksum(const SchemaObject& object) { return ToHex(Sha256(object.text)); }

Result<std::map<std::string, ObjectRecord>> ReadObjects(Connection& connection) {
  std::map<std::string, ObjectRecord> records;
  auto there = connection.RunScript("SELECT to_regclass('public.schema_objects') IS NOT NULL");
  if (!there) return there.error();
  if (!there->Bool(0, 0)) return records;
  auto rows = connection.RunScript("SELECT o.name, o.version, o.checksum, " + std::string(kExists) + " FROM public.schema_objects o");
  if (!rows) return rows.error();
  for (int i = 0; i < rows->size(); ++i) records[rows->Text(i, 0)] = {int(rows->Int(i, 1)), rows->Text(i, 2), rows->Bool(i, 3)};
  return records;
}

Status ApplyTogether(Connection& connection, const std::vector<const SchemaObject*>& objects, const MigrateLimits& limits) {
  auto step = [&]() -> Status {
    for (const SchemaObject* object : objects) {
      if (auto ran = connection.RunScript("SET LOCAL ROLE acl_owner; " + object->text); !ran) {
        return Error{ran.code(), object->file() + " failed and was rolled back: " + ran.message()};
      }
      auto recorded =
          connection.RunScript("RESET ROLE; INSERT INTO public.schema_objects (name, version, checksum) VALUES (" + Quoted(object->name) +
                               ", " + std::to_string(object->version) + ", " + Quoted(ObjectChecksum(*object)) +
                               ") ON CONFLICT (name) DO UPDATE SET version = excluded.version, checksum = excluded.checksum, "
                               "applied_at = clock_timestamp()");
      if (!recorded) return recorded.error();
    }
    return {};
  };
  return objects.empty() ? Status() : RunMigrationStep(connection, "SET LOCAL check_function_bodies = off", step, limits);
}

}  // namespace

std::vector<std::string> SchemaObject::Reads() const {
  constexpr std::string_view kMark = "\n-- reads: ";
  const std::size_t at = ("\n" + text).find(kMark);
  std::vector<std::string> views;
  if (at == std::string::npos) return views;
  const std::size_t from = at + kMark.size() - 1;
  std::stringstream names(text.substr(from, text.find('\n', from) - from));
  for (std::string view; std::getline(names, view, ',');) {
    view.erase(std::remove(view.begin(), view.end(), ' '), view.end());
    views.push_back("views/" + view);
  }
  return views;
}

std::vector<SchemaObject> ObjectsInOrder(std::vector<SchemaObject> objects, const std::string& versions) {
  std::map<std::string, int> version_of;
  std::stringstream lines(versions);
  int number = 0;
  for (std::string object, checksum; lines >> object >> number >> checksum;) version_of[object] = number;
  for (SchemaObject& object : objects) object.version = version_of[object.name];
  std::sort(objects.begin(), objects.end(), [](const SchemaObject& a, const SchemaObject& b) { return a.name < b.name; });

  std::vector<SchemaObject> ordered;
  std::set<std::string> placed;
  while (ordered.size() < objects.size()) {
    const std::size_t before = ordered.size();
    for (SchemaObject& object : objects) {
      const auto reads = object.Reads();
      const bool waits = std::any_of(reads.begin(), reads.end(), [&](const std::string& view) { return placed.count(view) == 0; });
      if (waits || !placed.insert(object.name).second) continue;
      ordered.push_back(object);
    }
    ACL_CHECK(ordered.size() > before, "a view of migrations/views reads itself, or what is no view (line `-- reads:`)");
  }
  return ordered;
}

Result<ObjectComparison> CompareObjects(Connection& connection, const std::vector<SchemaObject>& objects) {
  auto records = ReadObjects(connection);
  if (!records) return records.error();
  ObjectComparison out;
  for (const SchemaObject& object : objects) {
    auto it = records->find(object.name);
    if (it == records->end() || !it->second.exists || it->second.version < object.version) {
      out.pending.push_back(&object);
    } else if (it->second.version > object.version) {
      out.newer.push_back(object.file());
    } else if (it->second.checksum != ObjectChecksum(object)) {
      out.changed.push_back(object.file());
    }
    if (it != records->end()) records->erase(it);
  }
  for (const auto& [name, record] : *records) {
    if (record.exists) out.newer.push_back(name + ".sql");
  }
  return out;
}

Status ApplyObjects(Connection& connection, const std::vector<const SchemaObject*>& pending, const MigrateLimits& limits) {
  std::vector<const SchemaObject*> functions, views;
  for (const SchemaObject* object : pending) (object->is_view() ? views : functions).push_back(object);
  if (Status done = ApplyTogether(connection, functions, limits); !done) return done;
  for (const SchemaObject* view : views) {
    if (Status done = ApplyTogether(connection, {view}, limits); !done) return done;
  }
  auto forgotten = connection.RunScript("DELETE FROM public.schema_objects o WHERE NOT " + std::string(kExists));
  return forgotten ? Status() : Status(forgotten.error());
}

}  // namespace acl::pg
