$using:x
