# Writes OUT, the source of kernels_version(): a hash of the sources below FOLDER, by their paths in it and their bytes,
# so that it is the same wherever the folder lies.
#   cmake -DFOLDER=ridgeline/device -DOUT=kernels_version.cpp -P scripts/kernels_version.cmake
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/*.cpp ${FOLDER}/*.h)
list(SORT sources COMPARE STRING)
set(all)
foreach(source ${sources})
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 version "${all}")
string(SUBSTRING ${version} 0 16 version)
file(WRITE ${OUT} "#include \"ridgeline/device/cpu/kernels_version.h\"

namespace ridgeline {

std::string_view kernels_version() { return \"${version}\"; }

}  // namespace ridgeline
")
