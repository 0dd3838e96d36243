// ridgeline/train/checkpoint/directory_lock.h
//
// One training at a time writes into a log directory. The lock is the kernel's on an open file, so it ends with its
// owner, however that ends; the file `.lock` only tells the owner's process number to others. It goes with its owner,
// and with it the directories that were made for it, as far as nothing else was written into them. A process that is
// killed leaves the file, which locks nothing. Owned by the call that trains.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::train {

class DirectoryLock {
 public:
  // Makes the directory where it is missing. An Error where another process (or this one) holds the lock, or where
  // nothing can be written. File systems that know no locks give none.
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  bool take();
  std::string path_;
  std::vector<std::string> made_;  // directories that were not there, the innermost first
  int fd_ = -1;
};

}  // namespace ridgeline::train
