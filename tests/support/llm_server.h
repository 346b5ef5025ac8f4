#pragma once
// A real inference server with a small real model (`./dev llm`) of this test alone.

#include <string>

namespace acl::test {

class TestLlm {
 public:
  TestLlm();
  ~TestLlm();
  TestLlm(const TestLlm&) = delete;
  TestLlm& operator=(const TestLlm&) = delete;

  const std::string& base_url() const { return base_url_; }  // http://127.0.0.1:PORT/v1
  std::string Providers() const;                             // a providers file that names it, while it runs
  bool portable() const { return portable_; }                // no llama-server: it knows chat completions alone
  bool Busy() const;                                         // whether it works on an answer
  void Kill();                                               // kill -9

  static constexpr const char* kModel = "smollm2-135m";
  static constexpr int kContext = 1024;

 private:
  std::string name_, base_url_;
  bool portable_ = false;
};

}  // namespace acl::test
