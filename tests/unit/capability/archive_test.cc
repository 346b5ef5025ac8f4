#include <zip.h>

#include <set>

#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Archive : public CapabilityTest {
 protected:
  // Name -> content, read by libzip from the bytes.
  static std::map<std::string, std::string> Unpack(const std::string& bytes) {
    std::map<std::string, std::string> out;
    zip_error_t error;
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    zip_t* archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    EXPECT_TRUE(archive) << zip_error_strerror(&error);
    if (!archive) return out;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
      zip_stat_t stat;
      zip_stat_index(archive, zip_uint64_t(i), 0, &stat);
      std::string content(stat.size, '\0');
      zip_file_t* file = zip_fopen_index(archive, zip_uint64_t(i), 0);
      EXPECT_EQ(zip_fread(file, content.data(), content.size()), zip_int64_t(content.size()));
      zip_fclose(file);
      out[stat.name] = content;
    }
    zip_discard(archive);
    return out;
  }
};

TEST_F(Archive, PacksFilesAndDirectories) {
  Write("top.txt", "t");
  Write("d/a.txt", std::string(10'000, 'a'));
  Write("d/sub/ä.txt", "b");
  Json outputs = Apply("sys.archive.zip", {{"source_paths", {"top.txt", "d", "missing"}}, {"output_path", "out/all.zip"}}).outputs;
  EXPECT_EQ(outputs["archive_path"], "/workspace/out/all.zip");
  EXPECT_EQ(outputs["file_count"], 3);
  std::string bytes = ContentOf("out/all.zip");
  EXPECT_EQ(outputs["compressed_size"], bytes.size());
  EXPECT_LT(bytes.size(), 2000u);
  EXPECT_THAT(Unpack(bytes),
              ElementsAre(std::pair("d/a.txt", std::string(10'000, 'a')), std::pair("d/sub/ä.txt", "b"), std::pair("top.txt", "t")));
}

TEST_F(Archive, TheSameFilesGiveTheSameBytes) {
  Write("d/b", "2");
  Write("d/a", "1");
  std::set<std::string> seen;
  for (const char* zone : {"UTC", "Asia/Tokyo", "America/New_York"}) {
    ::setenv("TZ", zone, 1);
    ::tzset();
    Apply("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "x.zip"}});
    seen.insert(ContentOf("x.zip"));
    Apply("io.fs.delete", {{"path", "x.zip"}});
  }
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(ToHex(Sha256(*seen.begin())).size(), 64u);
}

TEST_F(Archive, DirectoriesInWhichNothingLiesAreKept) {
  Write("d/a/file", "1");
  Apply("io.fs.make_dir", {{"path", "d/a/empty"}});
  Apply("io.fs.make_dir", {{"path", "d/a-"}});  // sorts between d/a and what lies in it
  Apply("io.fs.make_dir", {{"path", "bare"}});
  const Json outputs = Apply("sys.archive.zip", {{"source_paths", {"d", "bare"}}, {"output_path", "x.zip"}}).outputs;
  EXPECT_EQ(outputs["file_count"], 1);
  EXPECT_THAT(Unpack(ContentOf("x.zip")),
              ElementsAre(std::pair("bare/", ""), std::pair("d/a-/", ""), std::pair("d/a/empty/", ""), std::pair("d/a/file", "1")));
}

TEST_F(Archive, ABackslashIsRefused) {  // zip 6.3.10, 4.4.17.1: only forward slashes; others read it as a folder
  Write("d/a\\b", "1");
  EXPECT_THAT(FailureOf("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "x.zip"}}), HasSubstr("backslash"));
}

TEST_F(Archive, LevelsRecursionAndItself) {
  Write("d/a", std::string(1000, 'a'));
  Write("d/s/b", "b");
  EXPECT_EQ(Apply("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "flat.zip"}, {"recursive", false}}).outputs["file_count"],
            1);
  Apply("sys.archive.zip", {{"source_paths", {"d/a"}}, {"output_path", "stored.zip"}, {"compression_level", 0}});
  EXPECT_GT(ContentOf("stored.zip").size(), 1000u);
  Apply("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "d/self.zip"}});
  Apply("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "d/self.zip"}});
  EXPECT_FALSE(Unpack(ContentOf("d/self.zip")).contains("d/self.zip"));
  Apply("sys.archive.zip", {{"source_paths", {"nothing"}}, {"output_path", "empty.zip"}});
  EXPECT_TRUE(Unpack(ContentOf("empty.zip")).empty());
  EXPECT_THAT(FailureOf("sys.archive.zip", {{"source_paths", {"d"}}, {"output_path", "z"}, {"compression_level", 10}}),
              HasSubstr("0 (store) to 9"));
  Write("e/a", "other");
  EXPECT_THAT(FailureOf("sys.archive.zip", {{"source_paths", {"d/a", "e/a"}}, {"output_path", "z"}}), HasSubstr("would both be 'a'"));
}

}  // namespace
}  // namespace acl
