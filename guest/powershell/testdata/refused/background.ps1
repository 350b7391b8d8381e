ping x &
