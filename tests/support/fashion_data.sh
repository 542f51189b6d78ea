# SPDX-License-Identifier: Apache-2.0
# For tests that train on Fashion-MNIST: whether the images are there ($whole), and the first of them. Reads
# FASHION_MNIST_DATA, the directory of the four IDX files.

# shellcheck shell=sh
whole=${FASHION_MNIST_DATA:-/usr/share/datasets/fashion-mnist}
if [ ! -e "$whole/train-images-idx3-ubyte.gz" ]; then
    echo "1..0 # SKIP no images in $whole (Debian: dataset-fashion-mnist)"
    exit 0
fi

# few_images FOLDER: the first 1024 images and labels of each file, since the program unpacks a file to its end whatever
# its --limit is. The count is in bytes 4 to 7, the items begin at byte 16 or 8.
few_images() {
    mkdir "$1"
    for file in train-images-idx3-ubyte:16:784 train-labels-idx1-ubyte:8:1 t10k-images-idx3-ubyte:16:784 \
        t10k-labels-idx1-ubyte:8:1; do
        name=${file%%:*} sizes=${file#*:}
        gzip -dc "$whole/$name.gz" 2>/dev/null | head -c $((${sizes%:*} + 1024 * ${sizes#*:})) >"$1/head"
        { head -c 4 "$1/head" && printf '\000\000\004\000' && tail -c +9 "$1/head"; } | gzip -1 >"$1/$name.gz"
    done
    rm "$1/head"
}
