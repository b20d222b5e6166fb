# lua-page.awk - puts etc/reference/lua.txt, as it stands, into bobtail-lua(7): awk -v lua=FILE.
/^\.Sh SEE ALSO/ {
    print ".Sh FUNCTIONS"
    print ".Bd -literal"
    while ((getline line < lua) > 0) {
        gsub(/\\/, "\\e", line)
        gsub(/-/, "\\-", line)
        if (line ~ /^[.']/)
            line = "\\&" line
        print line
    }
    print ".Ed"
}
{ print }
