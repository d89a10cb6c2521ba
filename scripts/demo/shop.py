"""A shop on WordPress: products are posts, and what is known of them are rows of `wp_postmeta`, as WooCommerce keeps them.

People look for products by their article number. WordPress has an index on the name of such a property and none on its value, so that
each of these searches reads the article numbers of all products.
"""
import random
from pathlib import Path

import wordpress
from browser import Request

PRODUCTS = 20_000
FIRST = 10_000

PLUGIN = """\
<?php
add_action('init', function () { register_post_type('product', ['public' => true, 'label' => 'Products']); });
add_filter('query_vars', function ($known) { $known[] = 'sku'; return $known; });
add_action('pre_get_posts', function ($query) {
    if ($query->is_main_query() && $query->get('sku')) {
        $query->set('post_type', 'product');
        $query->set('meta_key', '_sku');
        $query->set('meta_value', $query->get('sku'));
    }
});
"""


class Shop(wordpress.Blog):
    """One shop on one database, served at one port of the loopback."""

    def fill(self, database, seed: int) -> list[str]:
        """Posts of a blog, and products with their properties; returns words for searches."""
        (self.root / "wp-content/mu-plugins/shop.php").write_text(PLUGIN)
        words = super().fill(database, seed)
        database.sql(products(words, seed), "wordpress")
        return words

    def beside(self, folder: Path, port: int, database_at: str) -> "Shop":
        """The same shop at another port, on another database."""
        other = Shop(self.root, folder, port)
        other.database_at = database_at
        return other


def article_number(product: int) -> str:
    return f"A{product * 7919 % 1_000_003:06}"


def products(words: list[str], seed: int) -> str:
    """The statements that fill a shop."""
    draw = random.Random(seed + 1)
    posts, metas = [], []
    for product in range(FIRST, FIRST + PRODUCTS):
        day = f"20{draw.randint(20, 23)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02} 12:00:00"
        text = " ".join(draw.choices(words, k=20))
        posts.append(f"({product},1,'{day}','{day}','{text}','{draw.choice(words)} {product}','','publish','closed','closed','product-{product}',"
                     f"'','','{day}','{day}','','','product')")
        price, stock = draw.randint(100, 99999) / 100, draw.randint(0, 500)
        properties = {"_sku": article_number(product), "_price": price, "_regular_price": price, "_stock": stock,
                      "_stock_status": "instock" if stock else "outofstock", "_weight": draw.randint(1, 99)}
        metas += [f"({product},'{name}','{value}')" for name, value in properties.items()]
    lines = ["SET sql_mode = '';"]
    lines += wordpress.rows("wp_posts", "ID,post_author,post_date,post_date_gmt,post_content,post_title,post_excerpt,post_status,comment_status,"
                            "ping_status,post_name,to_ping,pinged,post_modified,post_modified_gmt,post_content_filtered,guid,post_type", posts)
    lines += wordpress.rows("wp_postmeta", "post_id,meta_key,meta_value", metas)
    return "\n".join(lines)


def requests(words: list[str], count: int, seed: int) -> list[Request]:
    """What people ask a shop for: products by article number, products, and the pages of its blog."""
    draw = random.Random(seed)
    popularity = [1 / (rank + 10) for rank in range(PRODUCTS)]

    def product() -> int:
        return FIRST + draw.choices(range(PRODUCTS), popularity)[0]

    kinds = [
        (35, lambda: Request(f"/?sku={article_number(product())}")),
        (45, lambda: Request(f"/?post_type=product&p={product()}")),
    ]
    pages = wordpress.requests(words, count, seed, writes=False)
    return [draw.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]() if draw.random() < 0.8 else page for page in pages]
