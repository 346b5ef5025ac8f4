#pragma once
// A real S3 server (versitygw, `./dev s3`) of this test alone, with a bucket. It keeps its port, key and objects over a restart.

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "shared/objectstore/s3_store.h"

namespace acl::test {

class TestS3 {
 public:
  TestS3();
  ~TestS3();
  TestS3(const TestS3&) = delete;
  TestS3& operator=(const TestS3&) = delete;

  void Start();
  void Kill();  // kill -9
  std::uint16_t port() const;

  // ACL_S3_...: for the programs. `through`: the port of a proxy before it.
  std::map<std::string, std::string> Environment(std::uint16_t through = 0) const;
  S3Options Options(std::uint16_t through = 0) const;
  std::unique_ptr<S3Store> Store(const Clock& clock, S3Options options) const;
  // Where the server keeps an object: for tests that damage or remove it behind everybody's back.
  std::filesystem::path FileOf(const std::string& key) const;

 private:
  std::string name_;
  std::map<std::string, std::string> environment_;
};

}  // namespace acl::test
