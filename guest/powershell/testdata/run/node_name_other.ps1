& {if ('host-2' -ine "$(echo HOST-1)") { exit -1 }}
