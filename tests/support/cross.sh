#!/bin/sh
# Build for other machines: sh tests/support/cross.sh arm64|armhf|armv6|clang|core FOLDER [OPTION...]
#
# Leaves FOLDER/build/src/cli/rpistat, a release build unless an OPTION of meson says otherwise. The
# compiler is Debian's, which apt-get installs; the libraries are unpacked into FOLDER/root, beside
# those of this machine. qemu-user-static, which is installed too, runs it:
# qemu-aarch64-static (or qemu-arm-static) -L FOLDER/root FOLDER/build/src/cli/rpistat
# clang is this machine's with that compiler, core with -Dauto_features=disabled.
# ARMv6, the first Raspberry Pi and the Zero, is Debian's armel with that processor's instructions.
# The status is 77 where the compiler or the libraries cannot be had.
# shellcheck disable=SC2046,SC2154
set -eu
flags=
case ${1:-}/${2:+folder} in
arm64/folder) architecture=arm64 family=aarch64 triplet=aarch64-linux-gnu ;;
armhf/folder) architecture=armhf family=arm triplet=arm-linux-gnueabihf ;;
armv6/folder) architecture=armel family=arm triplet=arm-linux-gnueabi flags=", '-march=armv6'" ;;
clang/folder | core/folder) ;;
*) echo "usage: sh $0 arm64|armhf|armv6|clang|core FOLDER [OPTION...]" >&2 && exit 2 ;;
esac
target=$1 place=$(mkdir -p "$2" && cd "$2" && pwd)
shift 2 && cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/install.sh
. tests/support/install.sh
build()
{
    configure_rpistat "$place/build" --buildtype=release -Dwerror=true "$@"
    ninja -C "$place/build" src/cli/rpistat
}
case $target in
clang)
    install_missing "$packages_build
clang command -v clang" || exit 77
    CC=clang build -Dauto_features=enabled "$@"
    exit
    ;;
core)
    install_missing "$packages_build" || exit 77
    build -Dauto_features=disabled "$@"
    exit
    ;;
esac
install_missing "$packages_build
gcc-$triplet command -v $triplet-gcc
qemu-user-static command -v qemu-arm-static" || exit 77
root=$place/root apt=$place/apt
mkdir -p "$root" "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status" # of that architecture nothing is installed: all that is needed is downloaded
other()
{
    apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
        -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" "$@"
}
other update || : # what cannot be found after it, install says
other install -y --download-only --no-install-recommends libpfm4-dev \
    $(echo "$packages_build" | sed -n 's/^\(lib[^ ]*-dev\) .*/\1/p') || exit 77
for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$root"; done
# what links and alternatives would name on the machine itself
find "$root" -type l -lname '/*' -exec sh -c 'ln -sfn "$1$(readlink "$2")" "$2"' - "$root" {} \;
for name in blas lapack; do ln -sf $name-netlib.pc "$root/usr/lib/$triplet/pkgconfig/$name.pc"; done
printf '%s\n' "[binaries]" "c = '$triplet-gcc'" "ar = '$triplet-gcc-ar'" "strip = '$triplet-strip'" \
    "pkgconfig = 'pkg-config'" "[properties]" "sys_root = '$root'" \
    "pkg_config_libdir = '$root/usr/lib/$triplet/pkgconfig'" "[built-in options]" \
    "c_args = ['--sysroot=$root'$flags]" "c_link_args = ['--sysroot=$root']" "[host_machine]" "system = 'linux'" \
    "cpu_family = '$family'" "cpu = '$family'" "endian = 'little'" >"$place/cross.txt"
build --cross-file "$place/cross.txt" -Dauto_features=enabled "$@"
