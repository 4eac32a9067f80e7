-- A small web shop. Replica identity full, so that every change carries the whole row before it.
CREATE TABLE orders (
  id         bigint PRIMARY KEY,
  customer   text           NOT NULL,
  status     text           NOT NULL,
  amount     numeric(10, 2) NOT NULL,
  items      integer        NOT NULL,
  note       text,
  updated_at timestamp(3)   NOT NULL DEFAULT now()
);
ALTER TABLE orders REPLICA IDENTITY FULL;
CREATE SEQUENCE order_ids;
CREATE FUNCTION place_order(client int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO orders (id, customer, status, amount, items, note)
  SELECT nextval('order_ids'), 'customer-' || lpad((client * 37 % 500)::text, 3, '0'), 'NEW',
         (100 + floor(random() * 49900)) / 100.0, 1 + floor(random() * 6),
         CASE WHEN random() < 0.3 THEN (ARRAY['gift wrap', 'leave at the door', 'call before delivery'])[1 + floor(random() * 3)] END
$$;
-- Some order among the latest 400: hot rows, as in a shop.
CREATE FUNCTION some_order() RETURNS bigint LANGUAGE sql AS $$
  SELECT greatest(1, (SELECT last_value FROM order_ids) - floor(random() * 400)::bigint)
$$;
SELECT place_order(i) FROM generate_series(1, 200) i;
