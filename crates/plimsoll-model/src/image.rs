use std::borrow::Cow;

/// The name under which nodes report an image: `:latest` is added when neither a tag nor a digest is given.
pub fn normalised_image_name(image: &str) -> Cow<'_, str> {
    let last_segment = image.rfind('/').map_or(image, |slash| &image[slash + 1..]);
    if last_segment.contains(':') {
        Cow::Borrowed(image)
    } else {
        Cow::Owned(format!("{image}:latest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_tag_or_digest_means_latest() {
        let cases = [
            ("nginx", "nginx:latest"),
            ("nginx:1.2", "nginx:1.2"),
            ("host:5000/nginx", "host:5000/nginx:latest"),
            ("host:5000/nginx:1.2", "host:5000/nginx:1.2"),
            ("nginx@sha256:0123", "nginx@sha256:0123"),
            ("", ":latest"),
        ];
        for (image, expected) in cases {
            assert_eq!(normalised_image_name(image), expected);
        }
    }
}
