Compress-Archive a b -CompressionLevel SmallestSize
