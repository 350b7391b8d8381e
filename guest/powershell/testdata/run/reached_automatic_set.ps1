$OFS = ","
