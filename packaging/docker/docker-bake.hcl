# docker buildx bake --file packaging/docker/docker-bake.hcl [TARGET]
# IMAGE and VERSION name what is built; each image has the tag of its PHP.

variable "IMAGE" {
  default = "howdah"
}

variable "VERSION" {
  default = "dev"
}

# PHP is the one that the release of Debian has.
target "image" {
  name = "php${replace(base.php, ".", "")}"
  matrix = {
    base = [
      { debian = "bookworm", php = "8.2" },
      { debian = "trixie", php = "8.4" },
    ]
  }
  context    = "."
  dockerfile = "packaging/docker/Dockerfile"
  target     = "howdah"
  args = {
    DEBIAN = base.debian
    PHP    = base.php
  }
  tags = [
    "${IMAGE}:${VERSION}-php${base.php}",
    "${IMAGE}:php${base.php}",
  ]
  platforms = ["linux/amd64", "linux/arm64"]
}

group "default" {
  targets = ["image"]
}
