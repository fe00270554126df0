"""Between sites: links that repair their own losses, and the trees over them."""
