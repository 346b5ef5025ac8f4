#include "shared/aegis/kernel_file.h"

#include <gtest/gtest.h>

namespace acl::aegis {
namespace {

TEST(KernelFile, AnEmptyFileSaysWhatToDo) {
  const auto loaded = LoadKernel("");
  ASSERT_FALSE(loaded.kernel.has_value());
  EXPECT_EQ(FormatFinding("k.yaml", loaded.findings.at(0)),
            "k.yaml:1:1: error: empty-file: the file says nothing; begin with 'kernel: aegis/1' or copy one of examples/aegis");
}

}  // namespace
}  // namespace acl::aegis
