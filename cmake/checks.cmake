# Style, layer and ISA-object checks as ctests.
