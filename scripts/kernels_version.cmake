# Writes OUT, the source of two functions: kernels_version(), a hash of the sources below FOLDER except cuda/, and
# contract_version(), a hash of the headers that a device plug-in shares with the program. The hashes are of relative
# paths and contents, so they do not depend on where the folder is.
#   cmake -DFOLDER=ridgeline/device -DOUT=kernels_version.cpp -P scripts/kernels_version.cmake
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/*.cpp ${FOLDER}/*.h)
list(FILTER sources EXCLUDE REGEX "^cuda/")
file(GLOB_RECURSE headers RELATIVE ${FOLDER} ${FOLDER}/*.h ${FOLDER}/../core/*.h ${FOLDER}/../graph/*.h)
list(FILTER headers EXCLUDE REGEX "^cuda/")
function(hash_of files result)
  list(SORT files COMPARE STRING)
  set(all)
  foreach(source ${files})
    file(SHA256 ${FOLDER}/${source} hash)
    string(APPEND all "${source} ${hash}\n")
  endforeach()
  string(SHA256 version "${all}")
  string(SUBSTRING ${version} 0 16 version)
  set(${result} ${version} PARENT_SCOPE)
endfunction()
hash_of("${sources}" version)
hash_of("${headers}" contract)
file(WRITE ${OUT} "#include \"ridgeline/device/cpu/kernels_version.h\"
#include \"ridgeline/device/plugin.h\"

namespace ridgeline {

std::string_view kernels_version() { return \"${version}\"; }

std::string_view contract_version() { return \"${contract}\"; }

}  // namespace ridgeline
")
